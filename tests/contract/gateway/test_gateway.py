"""The gateway over its real socket, with a desk that records and an upstream in memory."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from runner.errors import GatewayError, StoreError
from runner.gateway import SOCKET_NAME, GatewayLimits, Handover, ToolResult, ToolUse, UpstreamError
from runner.model import JsonObject, Usage
from tests.helpers.gateway import Answered, Desk, MemoryUpstream, a_gateway, a_request, answered, ask, request_bytes
from tests.helpers.upstream import reply_events, text, tool_use

CALLS = reply_events(text("a"), tool_use("Bash", '{"command": "ls"}'), tool_use("Read", "{}", identity="toolu_2"))
REFUSED = {
    "type": "error",
    "error": {"type": "permission_error", "message": "the supervisor refused this request; the run cannot go on"},
}


def undeclared(tool: ToolUse) -> Handover:
    return (
        Handover(name=f"undeclared__{tool.name}", raw="{}") if tool.name == "Bash" else Handover(name=tool.name, raw=tool.raw)
    )


def test_the_socket_is_open_to_every_uid_and_gone_after_stop(tmp_path: Path) -> None:
    async def main() -> tuple[int, bool]:
        async with a_gateway(tmp_path, MemoryUpstream([])):
            mode = (tmp_path / SOCKET_NAME).stat().st_mode
        return mode, (tmp_path / SOCKET_NAME).exists()

    mode, left = asyncio.run(main())
    assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode), left) == (True, 0o666, False)


def test_a_directory_with_a_long_name_holds_a_socket_too(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    upstream = MemoryUpstream(reply_events(text("hello")))

    async def main() -> bool:
        async with a_gateway(deep, upstream):
            return (deep / SOCKET_NAME).is_socket()

    assert asyncio.run(main())


def test_a_socket_that_cannot_be_made_is_an_error_with_the_reason(tmp_path: Path) -> None:
    async def main(directory: Path) -> None:
        async with a_gateway(directory, MemoryUpstream([])):
            pass

    with pytest.raises(GatewayError, match="No such file"):
        asyncio.run(main(tmp_path / "missing"))
    (tmp_path / SOCKET_NAME).touch()
    with pytest.raises(GatewayError, match="in use"):
        asyncio.run(main(tmp_path))


def test_a_turn_is_decided_before_the_cli_sees_its_calls_and_arrives_as_handed_over(tmp_path: Path) -> None:
    desk, upstream = Desk(hand=undeclared), MemoryUpstream(CALLS)

    async def main() -> tuple[Answered, Usage]:
        async with a_gateway(tmp_path, upstream, desk) as gateway:
            return await ask(tmp_path, a_request()), gateway.usage

    reply, usage = asyncio.run(main())
    told = reply_events(text("a"), tool_use("undeclared__Bash", "{}"), tool_use("Read", "{}", identity="toolu_2"))
    told[-2] = {**told[-2], "usage": {"input_tokens": 10, "output_tokens": 5}}
    start, *rest = reply.events()
    named: Any = start["message"]
    assert (reply.status, reply.headers["content-type"], rest) == (200, "text/event-stream", told[1:])
    # Under a name of our own: of replies that an upstream calls alike the CLI makes one (measured).
    assert (named["id"] != "msg_1", {**named, "id": "msg_1"}) == (True, told[0]["message"])
    assert [tool.raw for tool in desk.turns[0].tool_uses] == ['{"command": "ls"}', "{}"]
    assert usage == Usage(requests=1, turns=1, input_tokens=10, output_tokens=5)


def test_text_passes_at_once_and_nothing_of_a_call_passes_while_the_desk_thinks(tmp_path: Path) -> None:
    """Design.md §3.5: passed on unbuffered, held back from the first tool use."""

    async def main() -> tuple[list[str], list[str]]:
        more = asyncio.Event()
        desk = Desk(gate=asyncio.Event())
        upstream = MemoryUpstream([*CALLS[:3], more, *CALLS[3:]])
        async with a_gateway(tmp_path, upstream, desk):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME))
            writer.write(request_bytes(json.dumps(a_request()).encode()))
            first = (await reader.readuntil(b"text_delta")).decode()
            more.set()
            await desk.waiting.wait()
            await asyncio.sleep(0.05)
            assert desk.gate is not None
            held = bytes(reader._buffer).decode()  # type: ignore[attr-defined]
            desk.gate.set()
            rest = (await reader.read()).decode()
            writer.close()
        return [first, held], [rest]

    (first, held), (rest,) = asyncio.run(main())
    assert ("message_start" in first, "tool_use" in first + held, "toolu_1" in first + held) == (True, False, False)
    assert ("toolu_1" in rest, "toolu_2" in rest, "message_stop" in rest) == (True, True, True)


def test_a_turn_without_calls_is_taken_before_its_end_is_told(tmp_path: Path) -> None:
    desk = Desk(refuse_turn=GatewayError("stale attempt"))

    async def main() -> tuple[Answered, str | None]:
        async with a_gateway(tmp_path, MemoryUpstream(reply_events(text("bye"))), desk) as gateway:
            return await ask(tmp_path, a_request()), gateway.failure

    reply, failure = asyncio.run(main())
    assert [event["type"] for event in reply.events()][-2:] == ["message_delta", "error"]
    assert (reply.events()[-1], failure) == (REFUSED, "stale attempt")


def test_a_request_without_stream_gets_one_message(tmp_path: Path) -> None:
    desk = Desk(hand=undeclared)

    async def main() -> Answered:
        async with a_gateway(tmp_path, MemoryUpstream(CALLS), desk):
            return await ask(tmp_path, a_request(stream=False))

    reply = asyncio.run(main())
    body = reply.json()
    assert isinstance(body, dict)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert body["content"] == [
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "toolu_1", "name": "undeclared__Bash", "input": {}},
        {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {}},
    ]
    assert len(desk.turns) == 1


def test_the_next_request_gives_the_model_its_own_words_back_and_the_desk_the_results(tmp_path: Path) -> None:
    desk, upstream = Desk(hand=undeclared), MemoryUpstream(CALLS)
    said: JsonObject = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "undeclared__Bash", "input": {}}],
    }
    got: JsonObject = {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": "No such tool available: undeclared__Bash",
                "is_error": True,
            }
        ],
    }

    async def main() -> None:
        async with a_gateway(tmp_path, upstream, desk):
            await ask(tmp_path, a_request())
            await ask(tmp_path, a_request({"role": "user", "content": "go"}, said, got))

    asyncio.run(main())
    assert upstream.requests[1]["messages"] == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "No such tool available: Bash", "is_error": True}
            ],
        },
    ]
    assert desk.results == [
        (),
        (ToolResult(tool_use_id="toolu_1", text="No such tool available: undeclared__Bash", is_error=True),),
    ]


def test_the_container_s_credentials_and_headers_go_nowhere(tmp_path: Path) -> None:
    """G3: only betas of the list travel; there is no way to name another host or key."""
    upstream = MemoryUpstream(reply_events())
    header = "files-api-2025-04-14,effort-2025-11-24"

    async def main() -> None:
        async with a_gateway(tmp_path, upstream):
            await ask(tmp_path, a_request(metadata={"user_id": "x"}), anthropic_beta=header, authorization="Bearer mine")

    asyncio.run(main())
    assert upstream.betas == [("effort-2025-11-24",)]
    assert upstream.requests == [{key: value for key, value in a_request().items() if key != "stream"}]


def test_a_refused_request_reaches_no_upstream_and_the_next_one_may(tmp_path: Path) -> None:
    """A stale attempt, a spent budget, a pause: the desk says so before anything is sent."""
    desk, upstream = Desk(refuse_open=GatewayError("budget of approval a_1 is spent")), MemoryUpstream(reply_events(text("a")))

    async def main() -> tuple[Answered, str | None, Answered, str | None]:
        async with a_gateway(tmp_path, upstream, desk) as gateway:
            first, failure = await ask(tmp_path, a_request()), gateway.failure
            desk.refuse_open = None
            return first, failure, await ask(tmp_path, a_request()), gateway.failure

    first, failure, second, later = asyncio.run(main())
    assert (first.status, first.json(), failure) == (403, REFUSED, "budget of approval a_1 is spent")
    assert (second.status, later, len(upstream.requests)) == (200, None, 1)


@pytest.mark.parametrize("error", [GatewayError("forged result"), StoreError("disk full")])
def test_a_result_that_is_not_the_recorded_one_shuts_the_door(tmp_path: Path, error: GatewayError | StoreError) -> None:
    desk, upstream = Desk(refuse_results=error), MemoryUpstream(reply_events(text("a")))

    async def main() -> tuple[list[Answered], str | None]:
        async with a_gateway(tmp_path, upstream, desk) as gateway:
            first = await ask(tmp_path, a_request())
            desk.refuse_results = None
            return [first, await ask(tmp_path, a_request())], gateway.failure

    replies, failure = asyncio.run(main())
    assert [(reply.status, reply.json()) for reply in replies] == [(403, REFUSED)] * 2
    assert (upstream.requests, desk.opened, failure) == ([], 0, error.brief)


@pytest.mark.parametrize("error", [GatewayError("stale"), ValueError("a fault of ours")])
def test_a_desk_that_raises_releases_nothing_and_shuts_the_door(tmp_path: Path, error: BaseException) -> None:
    """Invariant 1: error → deny; the CLI never starts a call nobody decided."""
    desk = Desk(refuse_turn=error)

    async def main() -> tuple[bytes, Answered, str | None]:
        async with a_gateway(tmp_path, MemoryUpstream(CALLS), desk) as gateway:
            reply = await ask(tmp_path, a_request())
            desk.refuse_turn = None
            return reply.body, await ask(tmp_path, a_request()), gateway.failure

    body, later, failure = asyncio.run(main())
    assert (b"toolu" in body, b"tool_use" in body, b"message_stop" in body, b"fault" in body) == (False, False, False, False)
    assert (later.status, later.json()) == (403, REFUSED)
    assert failure == ("stale" if isinstance(error, GatewayError) else "the desk failed: ValueError")


def test_a_desk_that_hands_over_another_number_of_calls_releases_nothing(tmp_path: Path) -> None:
    class Short(Desk):
        async def take_turn(self, turn: object) -> tuple[Handover, ...]:  # type: ignore[override]
            return ()

    async def main() -> tuple[bytes, str | None]:
        async with a_gateway(tmp_path, MemoryUpstream(CALLS), Short()) as gateway:
            return (await ask(tmp_path, a_request())).body, gateway.failure

    body, failure = asyncio.run(main())
    assert (b"toolu" in body, failure) == (False, "the desk handed over another number of calls than the turn has")


@pytest.mark.parametrize("at", range(len(CALLS)))
def test_a_reply_cut_anywhere_is_no_turn(tmp_path: Path, at: int) -> None:
    desk = Desk()
    upstream = MemoryUpstream(CALLS[:at])

    async def main() -> tuple[Answered, str | None]:
        async with a_gateway(tmp_path, upstream, desk) as gateway:
            return await ask(tmp_path, a_request()), gateway.failure

    reply, failure = asyncio.run(main())
    assert (desk.turns, failure, b"toolu" in reply.body) == ([], "the model's reply was cut before its end", False)
    assert (reply.status, reply.body.endswith(b'its end"}}\n\n' if at else b'its end"}}')) == (200 if at else 500, True)


@pytest.mark.parametrize(("upstream_says", "cli_gets"), [(401, 403), (429, 429), (529, 529), (502, 500)])
def test_an_upstream_s_failure_is_told_once_and_kept_as_the_reason(tmp_path: Path, upstream_says: int, cli_gets: int) -> None:
    upstream = MemoryUpstream([UpstreamError("the model's upstream answered so", status=upstream_says)])

    async def main() -> tuple[Answered, str | None]:
        async with a_gateway(tmp_path, upstream) as gateway:
            return await ask(tmp_path, a_request()), gateway.failure

    reply, failure = asyncio.run(main())
    assert (reply.status, reply.headers["x-should-retry"], failure) == (cli_gets, "false", "the model's upstream answered so")


def test_the_cli_is_told_to_wait_on_while_a_long_call_is_held(tmp_path: Path) -> None:
    events = reply_events(tool_use("Read", "{}", pieces=["{", " ", " ", "}"]))

    async def main() -> Answered:
        async with a_gateway(tmp_path, MemoryUpstream(events), limits=GatewayLimits(ping_seconds=0)):
            return await ask(tmp_path, a_request())

    kinds = [event["type"] for event in asyncio.run(main()).events()]
    assert kinds[1] == "ping"
    assert [kind for kind in kinds if kind != "ping"] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_an_answer_s_helper_reads_what_the_socket_says() -> None:
    """The client of these tests joins chunks; a wrong join would hide bytes."""
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"
    assert answered(data).body == b"abc0123456789"
