"""What a request may cost, and the fitting of its reply into that (M11)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.errors import GatewayError
from runner.gateway import MIN_REPLY, Hold, Spent, UpstreamError
from runner.gateway.purse import fit, most_input
from runner.model import Json, JsonObject
from tests.helpers.gateway import MemoryUpstream, a_gateway, a_request, ask
from tests.helpers.upstream import reply_events, text


@dataclass
class Books:
    """A purse that notes what it is asked."""

    grants: int = 50
    short: bool = False
    asked: list[tuple[int, int]] = field(default_factory=list)
    settled: list[Spent | None] = field(default_factory=list)

    async def reserve(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        self.asked.append((most, max_tokens))
        if self.short:
            raise GatewayError("cannot go on: the budget is spent")
        return Hold(id="b_1", max_tokens=min(self.grants, max_tokens))

    async def settle(self, hold: Hold, spent: Spent | None) -> None:
        self.settled.append(spent)


def spoken(folder: Path, upstream: MemoryUpstream, books: Books, request: JsonObject) -> int:
    async def talk() -> int:
        async with a_gateway(folder, upstream, purse=books):
            return (await ask(folder, request)).status

    return asyncio.run(talk())


def test_a_request_asks_for_no_more_than_was_set_aside_and_its_cost_is_written(tmp_path: Path) -> None:
    upstream, books = MemoryUpstream(reply_events(text("hello"))), Books()
    assert spoken(tmp_path, upstream, books, a_request(max_tokens=100)) == 200
    assert [request["max_tokens"] for request in upstream.requests] == [50]
    assert [reply for _, reply in books.asked] == [100]
    assert [(one.complete, one.output_tokens > 0) for one in books.settled if one is not None] == [(True, True)]


def test_without_room_nothing_goes_out(tmp_path: Path) -> None:
    upstream, books = MemoryUpstream(reply_events(text("hello"))), Books(short=True)
    assert spoken(tmp_path, upstream, books, a_request()) == 403
    assert (upstream.requests, books.settled) == ([], [])


def test_a_request_that_never_got_an_answer_is_settled_with_nothing(tmp_path: Path) -> None:
    books = Books()
    spoken(tmp_path, MemoryUpstream([UpstreamError("gone", status=500)]), books, a_request())
    assert books.settled == [None]


def test_a_cut_reply_is_settled_as_cut(tmp_path: Path) -> None:
    books = Books()
    spoken(tmp_path, MemoryUpstream(reply_events(text("hello"))[:3]), books, a_request())
    assert [one.complete for one in books.settled if one is not None] == [False]


@pytest.mark.parametrize(
    ("thinking", "fitted"),
    [
        (None, None),
        ({"type": "adaptive"}, {"type": "adaptive"}),
        ({"type": "enabled", "budget_tokens": 1500}, {"type": "enabled", "budget_tokens": 1500}),
        ({"type": "enabled", "budget_tokens": 31_999}, {"type": "enabled", "budget_tokens": MIN_REPLY // 2}),
    ],
)
def test_thinking_is_cut_with_the_reply_and_leaves_room_for_words(thinking: Json, fitted: Json) -> None:
    body: JsonObject = {"max_tokens": 32_000} | ({} if thinking is None else {"thinking": thinking})
    fit(body, MIN_REPLY)
    assert body == {"max_tokens": MIN_REPLY} | ({} if fitted is None else {"thinking": fitted})


def test_the_most_an_input_can_be_counts_bytes_of_text_and_not_those_of_pictures() -> None:
    words = "é" * 1000
    plain: JsonObject = {"messages": [{"role": "user", "content": words}]}
    assert 2000 < most_input(plain) < 2100
    image: JsonObject = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4_000_000},
    }
    pictured: JsonObject = {"messages": [{"role": "user", "content": [image, {"type": "text", "text": words}]}]}
    result: JsonObject = {"type": "tool_result", "tool_use_id": "t", "content": [image]}
    assert 3700 < most_input(pictured) < 4000
    assert 1700 < most_input({"messages": [{"role": "user", "content": [result]}]}) < 2000
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * 200}}
    assert most_input({"messages": [{"role": "user", "content": [document]}]}) > 600 * 3500  # pages are compressed (M11)
    assert json.dumps(pictured).count("AAAA") > 1000
