"""Framing of the CLI's output: bytes in, bounded lines and strictly parsed frames out (sdk.md §5).

Owns every cap that stands between a hostile container and the supervisor's memory and loop. No I/O, no clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runner.agent.shapes import CONTROL, request_id
from runner.digest import MalformedJsonError, parse_strict
from runner.errors import AgentProtocolError
from runner.model import JsonObject

#: What makes JSON cost more than its bytes: each of these may become an object of some 32 bytes, and a step of a slow loop.
_MARKS = (b'"', b"{", b"[", b",")
_BYTES_PER_MARK = 32
#: A piece that is smaller and ends no line counts as a line: taking it costs the loop as much as one.
_CRUMB = 512
#: A frame of transcript lines is a transaction of the database that all runs write to: it costs so many lines more.
_MIRRORED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLimits:
    """Caps on what a container may send; over one of them it is killed.

    50,000 hook frames gave 50,000 pending holds, and eight legal 8 MiB frames cost 1.7 GiB, before there were caps.
    """

    control_bytes: int = 1024 * 1024  #: one control frame: hook, callback, tool message
    frame_bytes: int = 12 * 1024 * 1024  #: any other frame: the Read of a 3 MB PDF is 8 MB
    frame_marks: int = 1_000_000  #: quotes, commas and opening brackets of one frame: 4 MB of them cost 100 MB
    segment_bytes: int = 256 * 1024 * 1024  #: everything a container may ever send, on both outputs
    depth: int = 100  #: nesting
    in_flight: int = 256  #: control requests not answered yet
    in_flight_bytes: int = 24 * 1024 * 1024  #: what those cost in memory
    burst: int = 2000  #: lines at once, and small pieces that end none
    per_second: float = 500.0  #: of those in the long run
    noise: int = 200  #: lines that are not JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line, parsed; `frame` is None for noise. `cost` is what it takes in memory, roughly."""

    frame: JsonObject | None
    cost: int


def parse_line(line: bytes, limits: FrameLimits) -> Line:
    """Parse one line strictly. Keeps no state, so that a long one may be parsed off the loop.

    Raises:
        AgentProtocolError: A cap is passed, or the frame is JSON that two readers would read differently.
    """
    if not line.lstrip().startswith(b"{"):
        return Line(frame=None, cost=0)
    marks = sum(line.count(mark) for mark in _MARKS)
    if marks > limits.frame_marks:
        raise _over("frame_marks", limits.frame_marks)
    try:
        frame = parse_strict(line.decode("utf-8"), max_depth=limits.depth, allow_surrogates=True)
    except UnicodeDecodeError:
        raise AgentProtocolError("cannot read the agent's frame: it is not UTF-8") from None
    except MalformedJsonError as error:
        raise AgentProtocolError(f"cannot read the agent's frame: {error}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise AgentProtocolError("cannot read the agent's frame: it has no type")
    if frame["type"] in CONTROL and len(line) > limits.control_bytes:
        raise _over("control_bytes", limits.control_bytes)
    return Line(frame=frame, cost=len(line) + _BYTES_PER_MARK * marks)


@dataclass(slots=True)
class FrameReader:
    """Splits on byte 0x0A only (U+2028 and friends are data: case 88) and counts what a container sends and has open.

    `now` gives monotonic seconds. `open_requests` is what `answered` has not taken back yet, each with its cost.
    """

    now: Callable[[], float]
    limits: FrameLimits = field(default_factory=FrameLimits)
    open_requests: dict[str, int] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=bytearray)
    _received: int = 0
    _held: int = 0
    _noise: int = 0
    _tokens: float = -1.0
    _refilled: float = 0.0

    def count(self, size: int, *, whole: bool) -> None:
        """Count a piece of either output against what a container may ever send; `whole`: it ends a line that is counted.

        Raises:
            AgentProtocolError: It has sent more, or in too many small pieces.
        """
        if not whole and size < _CRUMB:
            self._spend()
        self._received += size
        if self._received > self.limits.segment_bytes:
            raise _over("segment_bytes", self.limits.segment_bytes)

    def lines(self, data: bytes) -> Iterator[bytes]:
        """Take bytes of stdout, give the lines they complete, blank ones left out.

        Raises:
            AgentProtocolError: A line is too long, or there are too many.
        """
        self.count(len(data), whole=b"\n" in data)
        searched = len(self._buffer)
        self._buffer += data
        while (end := self._buffer.find(b"\n", searched)) >= 0:
            line = bytes(memoryview(self._buffer)[:end])
            del self._buffer[: end + 1]
            searched = 0
            self._check_length(len(line))
            self._spend()
            if line.strip():
                yield line
        self._check_length(len(self._buffer))

    def take(self, line: Line) -> JsonObject | None:
        """Admit one line; None when it is noise.

        Raises:
            AgentProtocolError: Too much noise, an id in use, too many requests in flight, or too many transcript lines at once.
        """
        if line.frame is None:
            self._noise += 1
            if self._noise > self.limits.noise:
                raise _over("noise", self.limits.noise)
        elif line.frame["type"] == "transcript_mirror":
            self._spend(_MIRRORED)
        elif line.frame["type"] == "control_cancel_request":
            self.answered(request_id(line.frame))
        elif line.frame["type"] == "control_request":
            self._open(request_id(line.frame), line.cost)
        return line.frame

    def answered(self, request: str) -> None:
        """A control request has its answer, or was cancelled by the container."""
        self._held -= self.open_requests.pop(request, 0)

    def _open(self, request: str, cost: int) -> None:
        if request in self.open_requests:
            raise AgentProtocolError("cannot take the agent's request: its id is already in use")
        self.open_requests[request] = cost
        self._held += cost
        if len(self.open_requests) > self.limits.in_flight:
            raise _over("in_flight", self.limits.in_flight)
        if self._held > self.limits.in_flight_bytes:
            raise _over("in_flight_bytes", self.limits.in_flight_bytes)

    def _check_length(self, length: int) -> None:
        if length > self.limits.frame_bytes:
            raise _over("frame_bytes", self.limits.frame_bytes)

    def _spend(self, lines: int = 1) -> None:
        """A token bucket over lines, blank ones too: a flood ends the run before it ends the loop."""
        now = self.now()
        if self._tokens < 0:
            self._tokens = float(self.limits.burst)
        else:
            self._tokens = min(self._tokens + (now - self._refilled) * self.limits.per_second, float(self.limits.burst))
        self._refilled = now
        self._tokens -= lines
        if self._tokens < 0:
            raise _over("per_second", int(self.limits.per_second))


def _over(name: str, limit: int) -> AgentProtocolError:
    return AgentProtocolError(f"cannot go on reading the agent: over the limit {name} = {limit}")
