"""The SDK's transport over a byte stream: order, bounds, and an end that always comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from claude_agent_sdk import ProcessError

from runner.agent import transport as transport_module
from runner.agent.frames import FrameLimits
from runner.agent.transport import BoxTransport
from runner.errors import AgentProtocolError, SandboxError, StoreError
from runner.model import JsonObject
from tests.helpers.agent_gate import Kept
from tests.helpers.agent_stream import MemoryStream, a_result


def a_mirror_frame(*entries: Any) -> JsonObject:
    return {"type": "transcript_mirror", "filePath": "/home/agent/x.jsonl", "entries": list(entries)}


def a_transport(stream: MemoryStream, **changes: Any) -> BoxTransport:
    return BoxTransport(stream, **{"mirror": Kept(), "watch": lambda _: None, **changes})


async def everything(transport: BoxTransport) -> list[dict[str, Any]]:
    return [frame async for frame in transport.read_messages()]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_reading_ends_well_when_the_process_ends_well() -> None:
    async def main() -> list[str]:
        stream = MemoryStream()
        transport = a_transport(stream)
        await transport.connect()
        stream.say({"type": "assistant"}, a_result())
        stream.end(0)
        frames = await everything(transport)
        assert not transport.is_ready()
        return [frame["type"] for frame in frames]

    assert asyncio.run(main()) == ["result"]


@pytest.mark.parametrize("code", [1, 137, None])
def test_a_process_that_fails_is_an_error_so_that_what_waits_fails_at_once(code: int | None) -> None:
    """sdk.md §5: raise on non-zero exit."""

    async def main() -> None:
        stream = MemoryStream()
        stream.end(code)
        with pytest.raises(ProcessError) as caught:
            await everything(a_transport(stream))
        assert caught.value.exit_code == code

    asyncio.run(main())


def test_a_line_cut_by_the_end_is_not_a_frame() -> None:
    async def main() -> list[dict[str, Any]]:
        stream = MemoryStream()
        stream.put(b'{"type":"result"')
        stream.end(0)
        return await everything(a_transport(stream))

    assert asyncio.run(main()) == []


def test_a_broken_rule_kills_the_container_before_it_is_told() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream)
        await transport.connect()
        stream.put(b'{"type":"x","type":"y"}\n')
        with pytest.raises(AgentProtocolError) as caught:
            await everything(transport)
        assert (stream.destroyed, transport.is_ready()) == (1, False)
        assert transport.failure is caught.value

    asyncio.run(main())


def test_a_stream_that_breaks_off_is_the_containers_fault_and_not_the_walls() -> None:
    """L10: a container that dies while calls wait is a parked run; a `SandboxError` would end it as failed."""

    async def main() -> None:
        stream = MemoryStream()
        stream.break_off(SandboxError("cannot read from the container: its stream was cut", details="eof"))
        transport = a_transport(stream)
        with pytest.raises(AgentProtocolError) as caught:
            await everything(transport)
        assert caught.value.brief == "cannot go on with the agent: its stream broke off"
        assert caught.value.details == "cannot read from the container: its stream was cut\neof"
        assert transport.failure is caught.value

    asyncio.run(main())


def test_every_frame_is_shown_to_the_watch_and_its_word_ends_reading() -> None:
    async def main() -> None:
        stream, seen = MemoryStream(), list[str]()

        def watch(frame: JsonObject) -> None:
            seen.append(str(frame["type"]))
            if frame["type"] == "b":
                raise AgentProtocolError("no")

        stream.say({"type": "a"}, {"type": "b"}, {"type": "c"})
        with pytest.raises(AgentProtocolError, match="no"):
            await everything(a_transport(stream, watch=watch))
        assert (seen, stream.destroyed) == (["a", "b"], 1)

    asyncio.run(main())


def test_a_long_line_is_parsed_off_the_loop() -> None:
    """The loop belongs to every run: one container's 12 MiB must not hold it."""

    async def main() -> int:
        stream, beats = MemoryStream(), 0
        stream.say({"type": "assistant", "text": "\\" * 4_000_000})
        stream.end(0)
        reading = asyncio.create_task(everything(a_transport(stream)))
        while not reading.done():
            beats += 1
            await asyncio.sleep(0)
        assert await reading == []
        return beats

    assert asyncio.run(main()) > 10


# --- mirror -----------------------------------------------------------------------------------------------------------


def test_transcript_lines_are_stored_before_the_next_frame_is_shown() -> None:
    """Design.md §3: a run must be resumable from any of them on."""

    async def main() -> list[str]:
        stream, order = MemoryStream(), list[str]()

        async def mirror(lines: Sequence[str]) -> None:
            await asyncio.sleep(0.01)
            order.extend(lines)

        stream.say(a_mirror_frame({"n": 1}, {"n": "é"}), a_result(), a_mirror_frame({"n": 3}))
        stream.end(0)
        async for frame in a_transport(stream, mirror=mirror).read_messages():
            order.append(frame["type"])
        return order

    assert asyncio.run(main()) == ['{"n": 1}', '{"n": "\\u00e9"}', "result", '{"n": 3}']


@pytest.mark.parametrize("entries", [None, {}, "x", [1], [{"n": 1}, "x"], [[]]])
def test_a_transcript_of_anything_but_objects_is_refused_whole(entries: Any) -> None:
    async def main() -> list[str]:
        stream, kept = MemoryStream(), Kept()
        stream.say({"type": "transcript_mirror", "entries": entries})
        with pytest.raises(AgentProtocolError, match="an entry is not an object"):
            await everything(a_transport(stream, mirror=kept))
        assert stream.destroyed == 1
        return kept.lines

    assert asyncio.run(main()) == []


def test_a_store_that_fails_ends_reading_with_its_own_error() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream, mirror=Kept(fails=StoreError("disk full")))
        await transport.connect()
        stream.say(a_mirror_frame({"n": 1}), a_result())
        with pytest.raises(StoreError, match="disk full"):
            await everything(transport)
        assert (transport.is_ready(), transport.failure) == (False, None)

    asyncio.run(main())


# --- stderr -----------------------------------------------------------------------------------------------------------


def test_stderr_is_kept_apart_and_its_end_only() -> None:
    """Cases 96, 101, 91: reading goes on whatever is said there, and memory stays bounded."""

    async def main() -> str:
        stream = MemoryStream()
        stream.put(b'{"type":"res')
        for _ in range(200):
            stream.put(b"x" * 50_000 + b"\n", stream="err")
        stream.put('{"type":"forged"}\nlast \xe9 \u2028 word'.encode()[:-1], stream="err")
        stream.put(b'ult"}\n')
        stream.end(0)
        transport = a_transport(stream)
        assert [frame["type"] for frame in await everything(transport)] == ["result"]
        return transport.stderr_tail()

    tail = asyncio.run(main())
    assert tail.endswith('{"type":"forged"}\nlast é \u2028 wor')
    assert len(tail) <= 16 * 1024


def test_stderr_counts_against_what_a_container_may_send() -> None:
    async def main() -> None:
        stream = MemoryStream()
        stream.put(b"x" * 101, stream="err")
        with pytest.raises(AgentProtocolError, match="segment_bytes"):
            await everything(a_transport(stream, limits=FrameLimits(segment_bytes=100)))
        assert stream.destroyed == 1

    asyncio.run(main())


# --- writing ----------------------------------------------------------------------------------------------------------


def test_writing_before_connect_and_after_close_raises() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream)
        with pytest.raises(ProcessError):
            await transport.write('{"type": "user"}\n')
        await transport.connect()
        await transport.write('{"type": "user"}\n')
        await transport.close()
        with pytest.raises(ProcessError):
            await transport.write('{"type": "late"}\n')
        assert stream.sent == [{"type": "user"}]

    asyncio.run(main())


def test_writing_after_the_output_ended_raises() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream)
        await transport.connect()
        stream.end(0)
        await everything(transport)
        with pytest.raises(ProcessError):
            await transport.write("{}\n")

    asyncio.run(main())


def test_a_container_that_does_not_take_a_line_is_not_written_to_again() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream)
        await transport.connect()
        stream.deaf = SandboxError("cannot write to the container: it is gone")
        with pytest.raises(ProcessError):
            await transport.write('{"type": "user"}\n')
        stream.deaf = None
        with pytest.raises(ProcessError):
            await transport.write('{"type": "user"}\n')
        assert (stream.sent, stream.destroyed) == ([], 1)
        assert transport.failure is not None
        assert transport.failure.brief == "cannot go on with the agent: its stream broke off"

    asyncio.run(main())


def test_an_answer_nobody_can_read_waits_to_be_called_off() -> None:
    """Raised at once, each would be a fault in the log, hundreds of them at a container's word."""

    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream)
        await transport.connect()
        stream.end(0)
        await everything(transport)
        line = '{"type": "control_response", "response": {"subtype": "success", "request_id": "a"}}\n'
        answers = [asyncio.create_task(transport.write(line)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert not any(answer.done() for answer in answers)
        answers[0].cancel()
        await transport.close()
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(error) for error in found] == [asyncio.CancelledError, ProcessError, ProcessError]
        assert stream.sent == []

    asyncio.run(main())


def test_lines_written_at_once_are_sent_one_after_another() -> None:
    class Slow(MemoryStream):
        inside = 0

        async def send(self, data: bytes) -> None:
            self.inside += 1
            assert self.inside == 1
            await asyncio.sleep(0.001)
            await super().send(data)
            self.inside -= 1

    async def main() -> int:
        stream = Slow()
        transport = a_transport(stream)
        await transport.connect()
        await asyncio.gather(*(transport.write('{"type": "user"}\n') for _ in range(20)))
        return len(stream.sent)

    assert asyncio.run(main()) == 20


def an_answer(name: str) -> str:
    return json.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": name}}) + "\n"


def test_an_answer_frees_its_request_and_a_prompt_that_speaks_of_one_does_not() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream, limits=FrameLimits(in_flight=1))
        await transport.connect()
        asked = {"type": "control_request", "request_id": "a", "request": {"subtype": "hook_callback"}}
        stream.say(asked)
        frames = transport.read_messages()
        name = (await anext(frames))["request_id"]
        await transport.write(an_answer(name))
        assert stream.sent[-1] == {"type": "control_response", "response": {"subtype": "success", "request_id": "a"}}
        stream.say(asked)
        assert (await anext(frames))["request_id"] != name
        long = "x" * 200
        await transport.write(f'{{"type": "user", "long": "{long}", "message": "\\"control_response\\" request_id a"}}\n')
        stream.say({**asked, "request_id": "b"})
        with pytest.raises(AgentProtocolError, match="in_flight"):
            await anext(frames)

    asyncio.run(main())


# --- the end ----------------------------------------------------------------------------------------------------------


def test_closing_kills_the_container_and_may_be_asked_for_twice() -> None:
    async def main() -> None:
        stream = MemoryStream()
        transport = a_transport(stream)
        await transport.connect()
        await transport.close()
        await transport.close()
        assert (stream.destroyed, transport.is_ready()) == (2, False)

    asyncio.run(main())


def test_closing_a_container_that_never_goes_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 95: the SDK closes inside a shield without a bound, so a close that hangs would hang everything."""

    class Undying(MemoryStream):
        async def destroy(self) -> None:
            await super().destroy()
            await asyncio.Event().wait()

    async def main() -> int:
        monkeypatch.setattr(transport_module, "CLOSE_SECONDS", 0.01)
        stream = Undying()
        await a_transport(stream).close()
        return stream.destroyed

    assert asyncio.run(main()) == 1


def test_input_is_ended_at_the_stream() -> None:
    async def main() -> bool:
        stream = MemoryStream()
        await a_transport(stream).end_input()
        return stream.input_ended

    assert asyncio.run(main())
