"""A container that sends too much: of frames, bytes, depth, requests, noise. It is killed, and nothing of it piles up here."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runner.agent.frames import FrameLimits
from runner.errors import AgentProtocolError
from runner.model import JsonObject
from tests.helpers.agent_gate import Kept, RecordingGate, conversation
from tests.helpers.agent_stream import FakeCli, Piece, a_hook

HOOKS = 50_000
#: The usual burst, and then nothing more: what a test counts must not depend on how fast the machine is.
SLOW = FrameLimits(per_second=0.001)


class Flood(FakeCli):
    """Begins to pour once it is asked something; pieces are made when they are read, so that none is kept here."""

    def __init__(self, pour: Callable[[], Iterator[bytes]], **more: Any) -> None:
        super().__init__(**more)
        self._make = pour
        self._pouring: Iterator[bytes] | None = None
        self.poured = 0

    async def heard(self, line: JsonObject) -> None:
        await super().heard(line)
        if line["type"] == "user":
            self._pouring = self._make()

    async def poured_out(self) -> None:
        """What happens between the last piece and the end."""

    async def receive(self) -> Piece | None:
        if self.unread or self._pouring is None or self.destroyed:
            return await super().receive()
        data = next(self._pouring, None)
        if data is None:
            await self.poured_out()
            self.end(0)
            return await super().receive()
        self.poured += len(data)
        return Piece("out", data)


def line(frame: JsonObject) -> bytes:
    return json.dumps(frame).encode() + b"\n"


def a_request(n: int, **more: Any) -> JsonObject:
    return {"type": "control_request", "request_id": f"q{n}", "request": a_hook("Read", {"n": n, **more})}


@pytest.fixture(autouse=True)
def _nothing_piles_up_in_the_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """One container must not fill the log with a fault for each of its frames."""
    yield
    gc.collect()
    assert len(caplog.records) < 5


def killed(cli: FakeCli, gate: RecordingGate | None = None, *, limits: FrameLimits | None = None) -> str:
    """Why a conversation ended; its container is gone."""
    with pytest.raises(AgentProtocolError) as caught:
        asyncio.run(conversation(cli, gate, limits=limits))
    assert cli.destroyed >= 1
    return caught.value.brief


def test_fifty_thousand_hook_frames_are_never_fifty_thousand_holds() -> None:
    """Design.md §8: they gave 50,000 pending holds and a stalled loop. Counted, not timed."""
    gate = RecordingGate(hook=asyncio.Event())
    cli = Flood(lambda: (line(a_request(n)) for n in range(HOOKS)))
    assert "in_flight = 256" in killed(cli, gate)
    assert len(gate.asked) <= 256
    assert gate.cancelled == len(gate.asked)
    assert cli.poured < 257 * len(line(a_request(HOOKS)))


def test_hook_frames_that_are_answered_at_once_end_at_their_pace() -> None:
    gate = RecordingGate()
    cli = Flood(lambda: (line(a_request(n)) for n in range(HOOKS)))
    assert "per_second" in killed(cli, gate, limits=SLOW)
    assert len(gate.asked) <= SLOW.burst


def test_hook_frames_in_one_piece_are_never_all_taken() -> None:
    """A piece of 64 KiB is what one read gives at most; here all of it comes at once."""
    gate = RecordingGate(hook=asyncio.Event())
    cli = Flood(lambda: iter([b"".join(line(a_request(n)) for n in range(5000))]))
    assert "in_flight = 256" in killed(cli, gate)
    assert len(gate.asked) <= 256


def test_a_burst_in_one_piece_is_answered_while_it_is_read() -> None:
    """Reading gives its handlers their turn: what an honest CLI says at once is not taken for a flood."""
    gate = RecordingGate()
    last = line({"type": "result", "subtype": "success", "is_error": False, "result": "done"})
    cli = Flood(lambda: iter([b"".join(line(a_request(n)) for n in range(600)) + last]))
    assert asyncio.run(conversation(cli, gate)).said == "done"
    assert len(gate.asked) == len(cli.answers) == 600


def test_requests_that_are_asked_and_called_off_end_at_their_pace_and_leave_nothing() -> None:
    gate = RecordingGate(hook=asyncio.Event())

    def pour() -> Iterator[bytes]:
        for n in range(HOOKS):
            yield line(a_request(n)) + line({"type": "control_cancel_request", "request_id": f"q{n}"})

    cli = Flood(pour)
    assert "per_second" in killed(cli, gate, limits=SLOW)
    assert gate.cancelled == len(gate.asked) <= SLOW.burst // 2
    assert cli.answers == []


def test_requests_of_a_megabyte_in_flight_are_bounded_by_their_size() -> None:
    """24 MiB in flight per container, however few the frames."""
    gate = RecordingGate(hook=asyncio.Event())
    cli = Flood(lambda: (line(a_request(n, text="x" * 1_000_000)) for n in range(200)))
    assert "in_flight_bytes" in killed(cli, gate)
    assert len(gate.asked) <= 25


def test_a_control_frame_over_a_megabyte_kills() -> None:
    """Case 87: the gateway refuses such an input before the CLI sees it; what comes anyway comes from no honest CLI."""
    cli = Flood(lambda: iter([line(a_request(1, text="x" * 2_000_681))]))
    assert "control_bytes" in killed(cli)


@pytest.mark.parametrize("kind", ["assistant", "user", "stream_event", "transcript_mirror"])
def test_eight_frames_of_eight_mebibytes_are_never_held_at_once(kind: str) -> None:
    """Design.md §8: they cost 1.7 GiB. A large Read is legal, so they pass, one after another."""
    frame = line({"type": kind, "entries": [], "text": "x" * 8 * 1024 * 1024})

    def pour() -> Iterator[bytes]:
        for _ in range(8):
            yield frame
        yield line({"type": "result", "subtype": "success", "is_error": False, "result": "done"})

    async def main() -> int:
        tracemalloc.start()
        try:
            assert (await conversation(Flood(pour))).said == "done"
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert asyncio.run(main()) < 8 * len(frame)


def test_everything_together_has_an_end() -> None:
    """256 MiB of legal frames are the last a container says."""
    frame = line({"type": "assistant", "text": "x" * 1_000_000})
    cli = Flood(lambda: (frame for _ in range(1000)))
    limits = FrameLimits(segment_bytes=20_000_000)
    assert "segment_bytes" in killed(cli, limits=limits)
    assert cli.poured <= 21 * len(frame)
    assert FrameLimits().segment_bytes == 256 * 1024 * 1024


def test_a_line_that_never_ends_is_dropped_at_its_cap() -> None:
    """Case 91: 50 MB without a newline."""
    cli = Flood(lambda: (b"x" * 65_536 for _ in range(800)))
    assert "frame_bytes" in killed(cli)
    assert cli.poured <= FrameLimits().frame_bytes + 65_536


def test_noise_is_skipped_and_then_ends_it() -> None:
    cli = Flood(lambda: (b"npm warn deprecated\n" for _ in range(10_000)))
    assert "noise = 200" in killed(cli)
    assert cli.poured <= 201 * 20


@pytest.mark.parametrize("mark", ["[", '{"a":'])
def test_deep_nesting_is_refused_and_overflows_no_stack(mark: str) -> None:
    cli = Flood(lambda: iter([b'{"type":"assistant","a":' + mark.encode() * 200_000 + b"\n"]))
    assert killed(cli) == "cannot read the agent's frame: nested deeper than 100 levels"


def test_millions_of_tiny_values_are_refused_before_they_are_made() -> None:
    body = b"[" + b"[]," * 3_900_000 + b"[]]"
    cli = Flood(lambda: iter([b'{"type":"assistant","a":' + body + b"}\n"]))
    assert "frame_marks" in killed(cli)


def test_the_loop_goes_on_while_a_container_pours() -> None:
    """Other runs share the loop: between two pieces each gets its turn, and a long line is parsed beside it."""
    frames, frame = 10, line({"type": "assistant", "text": "\\" * 200_000})

    async def main() -> int:
        beats, cli = 0, Flood(lambda: (frame for _ in range(frames)))
        talk = asyncio.create_task(conversation(cli))
        while not talk.done():
            beats += 1
            await asyncio.sleep(0)
        end = await talk
        assert end.subtype == "eof"
        return beats

    assert asyncio.run(main()) > frames


def test_results_that_pour_in_before_the_handshake_are_not_kept() -> None:
    """The SDK buffers a hundred messages before anyone reads; a hundred large ones were 800 MB."""

    class Early(FakeCli):
        async def heard(self, heard: JsonObject) -> None:
            for _ in range(60):
                self.say({"type": "assistant", "text": "x" * 500_000})
                self.say(
                    {"type": "result", "subtype": "s", "is_error": True, "result": "x" * 500_000, "usage": {"a": "b" * 500_000}}
                )
            await super().heard(heard)

    async def main() -> int:
        cli = Early(initialized=None)
        cli.say({"type": "assistant"})
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            talk = asyncio.create_task(conversation(cli, mirror=Kept()))
            while not cli.sent or cli.unread:  # noqa: ASYNC110 -- the reader rings no bell
                await asyncio.sleep(0.01)
            held = tracemalloc.get_traced_memory()[0] - before
            talk.cancel()
            await asyncio.gather(talk, return_exceptions=True)
            return held
        finally:
            tracemalloc.stop()

    assert asyncio.run(main()) < 5_000_000


def test_an_id_that_comes_again_while_its_first_request_is_being_called_off_is_another_request() -> None:
    """The SDK goes by ids: the end of the first made it forget the second, which then waited on, uncounted."""
    gate = RecordingGate(hook=asyncio.Event())
    off = line({"type": "control_cancel_request", "request_id": "q1"})

    def pour() -> Iterator[bytes]:
        for _ in range(200):
            yield line(a_request(1)) + off + line(a_request(1)) + off

    class Counting(Flood):
        left = -1

        async def poured_out(self) -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            self.left = len(gate.asked) - gate.cancelled

    cli = Counting(pour)
    assert asyncio.run(conversation(cli, gate)).subtype == "eof"
    assert (cli.left, cli.answers) == (0, [])
    assert len(gate.asked) > 200
