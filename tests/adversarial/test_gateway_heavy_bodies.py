"""Family: bodies made to cost the supervisor time or memory. Refused before they are parsed, off the loop (M6)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.gateway import Asked, Conversation, Expected
from runner.model import Json, JsonObject
from tests.helpers.burden import MIB, MOST_STALLED, baseline, watched
from tests.helpers.gateway import MemoryUpstream, a_gateway, a_request, ask
from tests.helpers.upstream import reply_events, text


def within(content: bytes) -> bytes:
    """A request whose one message holds `content` as its raw JSON."""
    head = json.dumps({key: value for key, value in a_request().items() if key != "messages"}).encode()
    return head[:-1] + b', "messages": [{"role": "user", "content": ' + content + b"}]}"


HEAVY: dict[str, bytes] = {
    "empty lists": within(b"[" + b"[]," * (4 * MIB) + b"[]]"),
    "deep lists": within(b"[" * (8 * MIB)),
    "deep objects": within(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "tiny texts": within(b"[" + b'"",' * (4 * MIB) + b'""]'),
    "many keys": within(b"{" + b",".join(b'"%d":1' % number for number in range(400_000)) + b"}"),
    "a long number": within(b"1" * (4 * MIB)),
    "a long fraction": within(b"0." + b"1" * (4 * MIB)),
    "a long exponent": within(b"1e" + b"9" * (4 * MIB)),
    "an endless text": within(b'"' + b"a" * (8 * MIB)),
    "escapes": within(b'"' + b"\\ud83d" * MIB + b'"'),
    "blanks": within(b" " * (30 * MIB)),
    "many messages": within(b'"a"}, ' + b'{"role": "user", "content": "a"}, ' * 60_000 + b'{"role": "user", "content": "a"'),
    "many blocks": within(b"[" + b'{"type":"text","text":""},' * 60_000 + b'{"type":"text","text":""}]'),
}


def told(result: str) -> bytes:
    """A request in which a tool's result holds this."""
    block: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": result}
    return json.dumps(a_request({"role": "user", "content": [block]}), ensure_ascii=False).encode()


def made(*content: Json) -> bytes:
    """A request with the model's words, in messages of 10,000 blocks each."""
    pieces = [list(content[at : at + 10_000]) for at in range(0, len(content), 10_000)]
    return json.dumps(a_request(*[{"role": "assistant", "content": piece} for piece in pieces])).encode()


def results(count: int) -> bytes:
    """A request with so many results in the user's mouth, in messages of 10,000."""
    told: list[Json] = [{"type": "tool_result", "tool_use_id": str(number)} for number in range(count)]
    return json.dumps(
        a_request(*({"role": "user", "content": told[at : at + 10_000]} for at in range(0, count, 10_000)))
    ).encode()


#: Nothing is wrong with these but their size: they are let through.
WELL_FORMED: dict[str, Callable[[], bytes]] = {
    "a bracket and blanks": lambda: told("<" + " " * (9 * MIB)),
    "brackets": lambda: told("<" * (9 * MIB)),
    "beginnings of tags": lambda: told("<s" * (4 * MIB)),
    "reminders behind a result": lambda: told("x" + "<system-reminder>x</system-reminder>" * 200_000),
    "escapes": lambda: told("\\" * (7 * MIB)),
    "escapes between letters": lambda: told("\\n" * (4 * MIB)),
    "one wide character": lambda: told("x" * (14 * MIB) + "\U0001f600"),
    "blanks around it": lambda: b" " * (14 * MIB) + told(""),
    "many texts": lambda: made(*[{"type": "text", "text": "a"}] * 49_000),
    "many calls": lambda: made(*({"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {}} for n in range(24_000))),
    "one input of many lists": lambda: made({"type": "tool_use", "id": "t", "name": "Read", "input": {"a": [[]] * 49_000}}),
    "one input of many numbers": lambda: made({"type": "tool_use", "id": "t", "name": "Read", "input": {"a": [1.5] * 400_000}}),
    "one input of many keys": lambda: made(
        {"type": "tool_use", "id": "t", "name": "Read", "input": {f"{n}": 1 for n in range(150_000)}}
    ),
    "many results": lambda: results(40_000),
}


#: What the run is about: none of these is, so that each is compared and then refused.
SAID = Expected(system="You are a clerk.", definitions={}, conversation=Conversation(prompts=(Asked(text="Sum this up."),)))


async def served(folder: Path, upstream: MemoryUpstream, body: bytes, expected: Expected | None = None) -> tuple[int, float]:
    """The status of a request's answer, and how long nothing else had its turn meanwhile."""
    async with a_gateway(folder, upstream, expected=expected):
        async with watched() as burden:
            status = (await ask(folder, body)).status
        assert (await ask(folder, a_request())).status == (200 if expected is None else 403)
    return status, burden.stall


@pytest.mark.parametrize("name", HEAVY)
def test_a_heavy_body_is_refused_while_the_loop_goes_on(tmp_path: Path, name: str) -> None:
    upstream, most = MemoryUpstream(reply_events(text("fine"))), MOST_STALLED * baseline()
    status, stalled = asyncio.run(served(tmp_path, upstream, HEAVY[name]))
    assert (status in {400, 413}, len(upstream.requests)) == (True, 1)
    assert stalled < most


@pytest.mark.parametrize("name", WELL_FORMED)
def test_a_heavy_body_that_is_well_formed_is_worked_on_while_the_loop_goes_on(tmp_path: Path, name: str) -> None:
    """M6: the escape is another run's latency. What reads, compares, rewrites and measures a request gives way to the rest."""
    upstream, most = MemoryUpstream(reply_events(text("fine"))), MOST_STALLED * baseline()
    body = WELL_FORMED[name]()
    status, stalled = asyncio.run(served(tmp_path, upstream, body))
    assert (status, len(upstream.requests)) == (200, 2)
    assert stalled < most
    status, stalled = asyncio.run(served(tmp_path, upstream, body, SAID))
    assert (status, len(upstream.requests)) == (403, 2)
    assert stalled < most


def test_a_large_honest_body_is_forwarded_whole(tmp_path: Path) -> None:
    """Neighbour: the Read of a 3 MB file is a body of some megabytes (sdk.md §5)."""
    upstream = MemoryUpstream(reply_events(text("fine")))
    content = 'line of "code", {with} [marks]\n' * 100_000

    async def main() -> int:
        async with a_gateway(tmp_path, upstream):
            return (await ask(tmp_path, a_request({"role": "user", "content": content}))).status

    assert asyncio.run(main()) == 200
    assert upstream.requests[0]["messages"] == [{"role": "user", "content": content}]
