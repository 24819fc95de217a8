"""Lines and frames of a container's output: where they end, what is read, and every cap."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from runner.agent.frames import FrameLimits, FrameReader, parse_line
from runner.errors import AgentProtocolError
from runner.model import Json, JsonObject


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def a_reader(clock: Clock | None = None, **limits: int | float) -> FrameReader:
    return FrameReader(now=clock or Clock(), limits=replace(FrameLimits(), **limits))  # type: ignore[arg-type]


def read(reader: FrameReader, *chunks: bytes) -> list[JsonObject]:
    """Every frame that some chunks complete."""
    found = []
    for chunk in chunks:
        for line in reader.lines(chunk):
            frame = reader.take(parse_line(line, reader.limits))
            if frame is not None:
                found.append(frame)
    return found


def encoded(*frames: JsonObject) -> bytes:
    return b"".join(json.dumps(frame, ensure_ascii=False).encode() + b"\n" for frame in frames)


def a_request(identity: Json = "q1", **more: Json) -> JsonObject:
    return {"type": "control_request", "request_id": identity, "request": {"subtype": "hook_callback", **more}}


def refused(reader: FrameReader, *chunks: bytes) -> str:
    with pytest.raises(AgentProtocolError) as caught:
        read(reader, *chunks)
    return caught.value.brief


# --- where a line ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x1c", "\x0b", "\x0c", "\r"])
def test_a_line_ends_at_byte_0a_and_nowhere_else(separator: str) -> None:
    """Case 88: `splitlines` would make several lines of it."""
    frame: JsonObject = {"type": "x", "text": f"a{separator}b"}
    assert read(a_reader(), encoded(frame)) == [frame]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4096, 4097])
def test_a_character_cut_by_a_chunk_is_whole_again(size: int) -> None:
    """Case 89: the engine's frames have odd sizes."""
    frame: JsonObject = {"type": "x", "text": "é€😀" * 700}
    data = encoded(frame)
    assert read(a_reader(burst=10_000), *(data[at : at + size] for at in range(0, len(data), size))) == [frame]


def test_blanks_at_a_chunks_edge_are_kept() -> None:
    """Case 90: a line of more than 64 KiB with blanks at byte 65,536."""
    frame: JsonObject = {"type": "x", "text": "a" * 65_500 + " " * 100 + "b"}
    data = encoded(frame)
    assert read(a_reader(), data[:65_536], data[65_536:]) == [frame]


def test_two_frames_and_a_half_in_one_chunk_are_two_frames_now() -> None:
    reader = a_reader()
    data = encoded({"type": "a"}, {"type": "b"}, {"type": "c"})
    assert read(reader, data[:-3]) == [{"type": "a"}, {"type": "b"}]
    assert read(reader, data[-3:]) == [{"type": "c"}]


def test_blank_lines_and_a_carriage_return_are_no_frames() -> None:
    assert read(a_reader(), b'\n  \n\r\n{"type":"x"}\r\n') == [{"type": "x"}]


# --- what is read -----------------------------------------------------------------------------------------------------


def test_a_frame_with_half_a_character_is_let_through() -> None:
    """The CLI cuts text inside a pair: such frames are never hashed."""
    assert read(a_reader(), b'{"type":"x","text":"\\ud83d"}\n') == [{"type": "x", "text": "\ud83d"}]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"x","type":"y"}',
        b'{"type":"x","a":{"b":1,"b":2}}',
        b'{"type":"x","a":NaN}',
        b'{"type":"x","a":1e999}',
        b'{"type":"x","a":9007199254740993}',
        b'{"type":"x"',
        b'{"type":"x"} {"type":"y"}',
        b'{"type":"x","a":"\xff"}',
        b'{"type":"x","a":"\xed\xa0\x80"}',
        b"{}",
        b'{"type":null}',
        b'{"type":["x"]}',
        b"{not json}",
    ],
)
def test_what_two_readers_would_read_differently_ends_the_conversation(line: bytes) -> None:
    assert refused(a_reader(), line + b"\n").startswith("cannot read the agent's frame: ")


@pytest.mark.parametrize("line", [b"a warning", b"[1]", b"null", b'"x"', b"\xff\xfe", b"\xef\xbb\xbf{}"])
def test_a_line_that_is_no_object_is_skipped_and_counted(line: bytes) -> None:
    """Case 91."""
    reader = a_reader(noise=2)
    assert read(reader, (line + b"\n") * 2, encoded({"type": "x"})) == [{"type": "x"}]
    assert refused(reader, line + b"\n") == "cannot go on reading the agent: over the limit noise = 2"


# --- caps -------------------------------------------------------------------------------------------------------------


def test_a_line_may_be_as_long_as_its_cap_and_no_longer() -> None:
    whole = encoded({"type": "x", "text": "a" * 100})
    assert len(read(a_reader(frame_bytes=len(whole) - 1), whole)) == 1
    assert "frame_bytes" in refused(a_reader(frame_bytes=len(whole) - 2), whole)


def test_a_line_without_an_end_is_not_kept_beyond_the_cap() -> None:
    """Case 91: 50 MB without a newline."""
    reader = a_reader(frame_bytes=1000)
    assert read(reader, b"a" * 1000) == []
    assert "frame_bytes" in refused(reader, b"a")


@pytest.mark.parametrize("kind", ["control_request", "control_response", "control_cancel_request"])
def test_a_control_frame_has_the_smaller_cap(kind: str) -> None:
    frame: JsonObject = a_request(text="a" * 500) | {"type": kind}
    assert "control_bytes" in refused(a_reader(control_bytes=400), encoded(frame))
    assert len(read(a_reader(control_bytes=400), encoded({"type": "assistant", "text": "a" * 500}))) == 1


def test_a_frame_of_many_small_things_is_refused_before_it_is_parsed() -> None:
    """A 12 MiB line of empty lists would be 270 MB of objects."""
    frame: JsonObject = {"type": "x", "a": [[]] * 50}
    marks = encoded(frame).count(b"[") + encoded(frame).count(b",") + encoded(frame).count(b'"') + 1
    assert len(read(a_reader(frame_marks=marks), encoded(frame))) == 1
    assert "frame_marks" in refused(a_reader(frame_marks=marks - 1), encoded(frame))


def test_a_frame_nested_too_deep_is_refused_without_recursion() -> None:
    deep = b'{"type":"x","a":' + b"[" * 400_000 + b"]" * 400_000 + b"}\n"
    assert refused(a_reader(), deep) == "cannot read the agent's frame: nested deeper than 100 levels"
    fits = b'{"type":"x","a":' + b"[" * 99 + b"]" * 99 + b"}\n"
    assert len(read(a_reader(), fits)) == 1


def test_everything_a_container_sends_counts_against_its_segment() -> None:
    reader = a_reader(segment_bytes=100)
    reader.count(60, whole=False)
    assert read(reader, b" " * 40) == []
    assert "segment_bytes" in refused(reader, b" ")
    with pytest.raises(AgentProtocolError, match="segment_bytes"):
        a_reader(segment_bytes=100).count(101, whole=False)


def test_lines_may_come_in_a_burst_and_then_at_a_pace() -> None:
    """50,000 hook frames gave 50,000 pending holds in 6 seconds."""
    clock = Clock()
    reader = a_reader(clock, burst=3, per_second=2.0)
    frame = encoded({"type": "x"})
    assert len(read(reader, frame * 3)) == 3
    clock.now += 0.5
    assert len(read(reader, frame)) == 1
    assert "per_second" in refused(reader, frame)


def test_an_allowance_does_not_grow_beyond_its_burst() -> None:
    clock = Clock()
    reader = a_reader(clock, burst=2, per_second=1.0)
    read(reader, encoded({"type": "x"}))
    clock.now += 1000
    assert "per_second" in refused(reader, encoded({"type": "x"}) * 3)


def test_blank_lines_cost_as_much_as_others() -> None:
    """256 MiB of newlines would keep the loop busy for minutes."""
    assert "per_second" in refused(a_reader(burst=10), b"\n" * 11)


def test_crumbs_that_end_no_line_cost_as_much_as_lines() -> None:
    """A byte at a time, 256 MiB would keep the loop busy for hours; on both outputs."""
    assert "per_second" in refused(a_reader(burst=10), *[b"x"] * 11)
    reader = a_reader(burst=10)
    for _ in range(10):
        reader.count(1, whole=False)
    with pytest.raises(AgentProtocolError, match="per_second"):
        reader.count(1, whole=False)
    assert read(a_reader(burst=1), *[b" " * 4096] * 50, b"\n") == [], "pieces of some size are what the engine makes of a line"


def test_transcript_lines_cost_more_than_others_since_each_is_a_transaction() -> None:
    """An honest CLI sends some in a turn; all runs write to one database."""
    frame = encoded({"type": "transcript_mirror", "entries": [{}]})
    assert len(read(a_reader(), frame * 150)) == 150
    clock = Clock()
    reader = a_reader(clock, burst=110, per_second=22.0)
    assert len(read(reader, frame * 10)) == 10
    clock.now += 0.5
    assert len(read(reader, frame)) == 1
    assert "per_second" in refused(reader, frame)


def test_a_clock_that_stands_still_gives_nothing_away() -> None:
    reader = a_reader(burst=1)
    read(reader, b"\n")
    assert "per_second" in refused(reader, b"\n")


# --- requests in flight -----------------------------------------------------------------------------------------------


def test_a_request_is_in_flight_until_it_is_answered_or_cancelled() -> None:
    reader = a_reader(in_flight=2)
    read(reader, encoded(a_request("a"), a_request("b")))
    reader.answered("a")
    read(reader, encoded(a_request("c"), {"type": "control_cancel_request", "request_id": "b"}, a_request("d")))
    assert set(reader.open_requests) == {"c", "d"}
    assert "in_flight = 2" in refused(reader, encoded(a_request("e")))


def test_an_answer_to_what_nobody_asked_frees_nothing() -> None:
    reader = a_reader(in_flight=1)
    read(reader, encoded(a_request("a"), {"type": "control_cancel_request", "request_id": "z"}))
    reader.answered("y")
    assert "in_flight = 1" in refused(reader, encoded(a_request("b")))


def test_an_id_in_use_is_refused_and_a_free_one_may_come_again() -> None:
    reader = a_reader()
    read(reader, encoded(a_request("a")))
    assert "already in use" in refused(reader, encoded(a_request("a")))
    reader.answered("a")
    assert len(read(reader, encoded(a_request("a")))) == 1


def test_what_requests_in_flight_cost_together_is_bounded_and_given_back() -> None:
    """Issue 2 item 6: 24 MiB in flight; 256 requests of 1 MiB would be a quarter of a gigabyte and more once parsed."""
    one = len(encoded(a_request("a", text="x" * 1000)))
    reader = a_reader(in_flight_bytes=4 * one)
    read(reader, encoded(a_request("a", text="x" * 1000), a_request("b", text="x" * 1000)))
    assert "in_flight_bytes" in refused(reader, encoded(a_request("c", text="x" * 1000)))
    reader = a_reader(in_flight_bytes=4 * one)
    for _ in range(20):
        read(reader, encoded(a_request("a", text="x" * 1000)))
        reader.answered("a")
    assert reader.open_requests == {}


def test_many_small_things_cost_more_than_their_bytes() -> None:
    plain, heavy = a_request("a", text="x" * 200), a_request("a", text=[[]] * 50)
    assert abs(len(encoded(plain)) - len(encoded(heavy))) < 30
    assert len(read(a_reader(in_flight_bytes=1200), encoded(plain))) == 1
    assert "in_flight_bytes" in refused(a_reader(in_flight_bytes=1200), encoded(heavy))


@pytest.mark.parametrize("identity", [None, 1, "", "x" * 201, ["a"], {"a": 1}])
@pytest.mark.parametrize("kind", ["control_request", "control_cancel_request"])
def test_a_request_without_a_short_text_for_an_id_is_refused(identity: Json, kind: str) -> None:
    assert "its id is missing" in refused(a_reader(), encoded(a_request(identity) | {"type": kind}))
