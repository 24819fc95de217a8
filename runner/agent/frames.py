"""Framing of the CLI's output: bytes in, bounded and strictly parsed frames out (sdk.md §5).

Owns every cap that stands between a hostile container and the supervisor's memory and loop. No I/O, no clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runner.digest import MalformedJsonError, parse_strict
from runner.errors import AgentProtocolError
from runner.model import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLimits:
    """Caps on what a container may send; over one of them it is killed.

    50,000 hook frames gave 50,000 pending holds, and eight legal 8 MiB frames cost 1.7 GiB, before there were caps.
    """

    control_bytes: int = 1024 * 1024  #: one control frame: hook, callback, tool message
    frame_bytes: int = 12 * 1024 * 1024  #: any other frame: the Read of a 3 MB PDF is 8 MB
    segment_bytes: int = 256 * 1024 * 1024  #: everything a container may ever send
    depth: int = 100  #: nesting
    in_flight: int = 256  #: control requests not answered yet
    burst: int = 2000  #: frames at once
    per_second: float = 500.0  #: frames in the long run
    noise: int = 200  #: lines that are not JSON


@dataclass(slots=True)
class FrameReader:
    """Splits on byte 0x0A only (U+2028 and friends are data: case 88) and parses each line strictly.

    `now` gives monotonic seconds. `open_requests` is what `answered` has not taken back yet.
    """

    now: Callable[[], float]
    limits: FrameLimits = field(default_factory=FrameLimits)
    open_requests: set[str] = field(default_factory=set)
    _buffer: bytearray = field(default_factory=bytearray)
    _received: int = 0
    _noise: int = 0
    _tokens: float = -1.0
    _refilled: float = 0.0

    def feed(self, data: bytes) -> Iterator[JsonObject]:
        """Take bytes, give the frames they complete.

        Raises:
            AgentProtocolError: A cap is passed, or a frame is JSON that two readers would read differently.
        """
        self._received += len(data)
        if self._received > self.limits.segment_bytes:
            raise _over("segment_bytes", self.limits.segment_bytes)
        start = len(self._buffer)
        self._buffer += data
        while (end := self._buffer.find(b"\n", start)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            start = 0
            frame = self._frame(line)
            if frame is not None:
                yield frame
        if len(self._buffer) > self.limits.frame_bytes:
            raise _over("frame_bytes", self.limits.frame_bytes)

    def answered(self, request_id: str) -> None:
        """A control request has its answer, or was cancelled by the container."""
        self.open_requests.discard(request_id)

    def _frame(self, line: bytes) -> JsonObject | None:
        if len(line) > self.limits.frame_bytes:
            raise _over("frame_bytes", self.limits.frame_bytes)
        if not line.strip():
            return None
        self._spend()
        if not line.lstrip().startswith(b"{"):
            self._count_noise()
            return None
        try:
            frame = parse_strict(line.decode("utf-8"), max_depth=self.limits.depth, allow_surrogates=True)
        except UnicodeDecodeError:
            raise AgentProtocolError("cannot read the agent's frame: it is not UTF-8") from None
        except MalformedJsonError as error:
            raise AgentProtocolError(f"cannot read the agent's frame: {error}") from None
        if not isinstance(frame, dict):
            self._count_noise()
            return None
        self._check_control(frame, len(line))
        return frame

    def _check_control(self, frame: JsonObject, size: int) -> None:
        kind = frame.get("type")
        if not isinstance(kind, str):
            raise AgentProtocolError("cannot read the agent's frame: it has no type")
        if kind not in ("control_request", "control_response", "control_cancel_request"):
            return
        if size > self.limits.control_bytes:
            raise _over("control_bytes", self.limits.control_bytes)
        if kind == "control_cancel_request":
            self.answered(str(frame.get("request_id")))
        if kind != "control_request":
            return
        request_id = frame.get("request_id")
        if not isinstance(request_id, str) or not isinstance(frame.get("request"), dict) or request_id in self.open_requests:
            raise AgentProtocolError("cannot take the agent's request: its id is missing or already in use")
        self.open_requests.add(request_id)
        if len(self.open_requests) > self.limits.in_flight:
            raise _over("in_flight", self.limits.in_flight)

    def _count_noise(self) -> None:
        self._noise += 1
        if self._noise > self.limits.noise:
            raise _over("noise", self.limits.noise)

    def _spend(self) -> None:
        """A token bucket over frames: a flood ends the run before it ends the loop."""
        now = self.now()
        if self._tokens < 0:
            self._tokens = float(self.limits.burst)
        else:
            self._tokens = min(self._tokens + (now - self._refilled) * self.limits.per_second, float(self.limits.burst))
        self._refilled = now
        self._tokens -= 1
        if self._tokens < 0:
            raise _over("per_second", int(self.limits.per_second))


def _over(name: str, limit: int) -> AgentProtocolError:
    return AgentProtocolError(f"cannot go on reading the agent: over the limit {name} = {limit}")
