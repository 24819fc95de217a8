"""For any reply in any pieces: nothing of a call passes before it is decided, and everything arrives afterwards (§3.5)."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.gateway import SOCKET_NAME, Handover, HttpUpstream, ModelTurn, Patience
from runner.gateway.refusals import UpstreamError
from runner.gateway.reply import Reply
from runner.gateway.values import GatewayLimits
from runner.model import JsonObject
from tests.helpers.gateway import Desk, a_gateway, a_request, answered, request_bytes
from tests.helpers.upstream import Answer, UpstreamDouble, reply_events, sse, text, tool_use

MARK = "MARK"  #: in every name and input of a call, in nothing else
words = st.text(st.characters(codec="utf-8", exclude_characters="M"), max_size=12)


def pieces_of(whole: str, cuts: Sequence[int]) -> list[str]:
    edges = sorted({0, len(whole), *(cut % (len(whole) + 1) for cut in cuts)})
    return [whole[start:end] for start, end in pairwise(edges)]


@st.composite
def texts(draw: st.DrawFn) -> JsonObject:
    whole = draw(words)
    return text(whole, pieces=pieces_of(whole, draw(st.lists(st.integers(0, 30), max_size=3))))


@st.composite
def calls(draw: st.DrawFn) -> JsonObject:
    raw = json.dumps({MARK: draw(words)}, ensure_ascii=draw(st.booleans()))
    cuts = draw(st.lists(st.integers(0, 60), max_size=4))
    return tool_use(MARK + draw(st.sampled_from(["", "Bash", "Write"])), raw, identity=f"{MARK}_1", pieces=pieces_of(raw, cuts))


replies = st.lists(st.one_of(texts(), calls()), max_size=6)


class Watching(Desk):
    """Notes what had reached the client when a turn was taken."""

    def __init__(self) -> None:
        super().__init__(hand=lambda tool: Handover(name=f"given_{tool.name}", raw=json.dumps({"was": tool.raw})))
        self.seen = bytearray()
        self.before = b""

    async def take_turn(self, turn: ModelTurn) -> tuple[Handover, ...]:
        for _ in range(5):
            await asyncio.sleep(0)
        self.before = bytes(self.seen)
        return await super().take_turn(turn)


def handed(blocks: list[JsonObject]) -> list[JsonObject]:
    """The reply the CLI must get."""
    made = [
        tool_use(f"given_{block['name']}", json.dumps({"was": block["raw"]}), identity=str(block["id"]))
        if block["type"] == "tool_use"
        else block
        for block in blocks
    ]
    events = reply_events(*made)
    events[-2] = {**events[-2], "usage": {"input_tokens": 10, "output_tokens": 5}}
    return events


@settings(max_examples=40, deadline=None)
@given(blocks=replies, cuts=st.lists(st.integers(0, 5000), max_size=12))
def test_nothing_of_a_call_is_told_before_its_turn_is_taken_and_all_of_it_afterwards(
    blocks: list[JsonObject], cuts: list[int]
) -> None:
    data = sse(*reply_events(*blocks))
    edges = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    chunks = tuple(data[start:end] for start, end in pairwise(edges))
    desk = Watching()

    async def main() -> None:
        async with UpstreamDouble([Answer(pieces=chunks)]).serving() as double:
            upstream = HttpUpstream(double.url, patience=Patience(attempts=1))
            with tempfile.TemporaryDirectory() as folder:
                async with a_gateway(Path(folder), upstream, desk):
                    reader, writer = await asyncio.open_unix_connection(f"{folder}/{SOCKET_NAME}")
                    writer.write(request_bytes(json.dumps(a_request()).encode()))
                    while chunk := await reader.read(4096):
                        desk.seen += chunk
                    writer.close()
            await upstream.aclose()

    asyncio.run(main())
    assert (MARK.encode() in desk.before, b"tool_use" in desk.before) == (False, False)
    told, wanted = answered(bytes(desk.seen)).events(), handed(blocks)
    ids = [events[0]["message"].pop("id") for events in (told, wanted)]
    assert told == wanted
    assert ids[0] != ids[1]  # a reply goes by a name of our own
    (turn,) = desk.turns
    assert [tool.raw for tool in turn.tool_uses] == [block["raw"] for block in blocks if block["type"] == "tool_use"]


@settings(max_examples=200, deadline=None)
@given(
    blocks=replies, order=st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.5, -1.5]), min_size=1, max_size=9), cut=st.integers(0, 60)
)
def test_a_reply_in_any_disorder_ends_or_stays_held_and_tells_no_call(
    blocks: list[JsonObject], order: list[float], cut: int
) -> None:
    """Events swapped and left out: what passes holds nothing of a call, and no call is made up."""
    events = reply_events(*blocks)
    places = sorted(range(len(events)), key=lambda index: index + order[index % len(order)])
    events = [events[place] for place in places if place != cut]
    reply = Reply(GatewayLimits())
    told: list[JsonObject] = []
    with suppress(UpstreamError):
        for event in events:
            out = reply.feed(event)
            told += [] if out is None else [out]
    assert (MARK in json.dumps(told), "tool_use" in json.dumps(told)) == (False, False)
    assert {tool.name for tool in reply.turn().tool_uses} <= {str(block.get("name")) for block in blocks}
