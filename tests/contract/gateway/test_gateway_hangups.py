"""A container that hangs up pays for what it had sent, and leaves nothing set aside behind (M11)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.errors import GatewayError
from runner.gateway import SOCKET_NAME, GatewayLimits, Hold, Spent, UpstreamError
from runner.model import JsonObject
from tests.helpers.gateway import Desk, MemoryUpstream, a_gateway, a_request, ask, request_bytes
from tests.helpers.upstream import reply_events, text

WORDS = "x" * 50_000
REPLY = reply_events(text("hello"))


@dataclass
class Books:
    """Notes what is set aside and what takes its place; a reservation waits for `open`."""

    asked: list[int] = field(default_factory=list)
    settled: list[Spent | None] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    asking: asyncio.Event = field(default_factory=asyncio.Event)
    short: bool = False

    async def reserve(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        self.asked.append(most)
        self.asking.set()
        await self.open.wait()
        if self.short:
            raise GatewayError("cannot go on: the budget is spent")
        return Hold(id=f"b_{len(self.asked)}", max_tokens=max_tokens)

    async def settle(self, hold: Hold, spent: Spent | None) -> None:
        self.settled.append(spent)


async def hung_up(directory: Path, until: asyncio.Event) -> None:
    """A request whose sender goes away when `until` is set."""
    _, writer = await asyncio.open_unix_connection(str(directory / SOCKET_NAME))
    writer.write(request_bytes(json.dumps(a_request({"role": "user", "content": WORDS})).encode()))
    await asyncio.wait_for(until.wait(), 20)
    until.clear()
    writer.close()


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not seen():  # noqa: ASYNC110 -- what is looked at has no event
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("began", [0, 1], ids=["before the reply begins", "after"])
def test_who_hangs_up_pays_for_the_input_however_often(tmp_path: Path, began: int) -> None:
    """The model has read it by then: nothing would make a request free but its own upstream's refusal."""
    books, upstream, times = Books(), MemoryUpstream([*REPLY[:began], asyncio.Event()]), 5

    async def main() -> None:
        books.open.set()
        async with a_gateway(tmp_path, upstream, purse=books):
            for number in range(1, times + 1):
                await hung_up(tmp_path, upstream.asked)
                await until(lambda: len(books.settled) == number)  # noqa: B023 -- awaited at once

    asyncio.run(main())
    charged = [spent.input_tokens + spent.cache_write_tokens for spent in books.settled if spent is not None]
    assert ([spent.complete for spent in books.settled if spent is not None], len(upstream.requests)) == (
        [False] * times,
        times,
    )
    assert charged == (books.asked if not began else [10] * times)
    assert min(books.asked) > len(WORDS)


def test_a_stop_while_the_model_thinks_charges_the_input_too(tmp_path: Path) -> None:
    books, upstream = Books(), MemoryUpstream([asyncio.Event()])

    async def main() -> None:
        books.open.set()
        async with a_gateway(tmp_path, upstream, purse=books):
            asking = asyncio.ensure_future(ask(tmp_path, a_request()))
            await upstream.asked.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(main())
    assert books.settled == [Spent(cache_write_tokens=books.asked[0], complete=False)]


@pytest.mark.parametrize("events", [[UpstreamError("overloaded", status=529)], []], ids=["refused", "ended before it began"])
def test_an_upstream_that_never_began_costs_nothing(tmp_path: Path, events: list[JsonObject | BaseException]) -> None:
    """Neighbour: it is the upstream that ended it, not the container."""
    books = Books()

    async def main() -> None:
        books.open.set()
        async with a_gateway(tmp_path, MemoryUpstream([*events]), purse=books):
            await ask(tmp_path, a_request())

    asyncio.run(main())
    assert books.settled == [None]


@pytest.mark.parametrize("stopped", [False, True], ids=["while it runs", "at its stop"])
def test_what_is_set_aside_for_a_sender_that_is_gone_is_given_back(tmp_path: Path, stopped: bool) -> None:
    """A reservation outlives its request; nobody but this gateway would ever settle it before a restart."""
    books, upstream = Books(), MemoryUpstream(REPLY)

    async def main() -> None:
        async with a_gateway(tmp_path, upstream, purse=books) as gateway:
            for _ in range(3):
                await hung_up(tmp_path, books.asking)
            stopping = asyncio.ensure_future(gateway.stop()) if stopped else None
            await asyncio.sleep(0.05)
            books.open.set()
            await until(lambda: len(books.settled) == len(books.asked))
            if stopping is not None:
                await stopping

    asyncio.run(main())
    assert books.settled == [None] * len(books.asked)
    assert (upstream.requests, len(books.asked)) == ([], 3)


def test_a_purse_that_says_no_when_nobody_listens_has_nothing_to_give_back(tmp_path: Path) -> None:
    books, desk = Books(short=True), Desk()

    async def main() -> int:
        async with a_gateway(tmp_path, MemoryUpstream(REPLY), desk, GatewayLimits(), purse=books):
            await hung_up(tmp_path, books.asking)
            await asyncio.sleep(0.05)
            books.open.set()
            return (await ask(tmp_path, a_request())).status

    assert (asyncio.run(main()), books.settled, len(books.asked)) == (403, [], 2)
