"""Budgets: reserved, then settled, in every scope a request counts in (M11)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import GatewayError
from runner.gateway import MIN_REPLY, Hold, Spent
from runner.model import Profile, Sender, SenderKind
from runner.store import RunRow, Store, spending
from runner.store.spending import Amount, Scope
from runner.supervisor.ids import Ids
from runner.supervisor.prices import LISTED, Price, at_most, cost, price_of
from runner.supervisor.purse import FASTEST, Budget, Budgets, RunPurse, settle_left, words
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, a_run, opened

MILLION = 1_000_000
CHEAP = {"claude": Price(input=1.0, output=2.0)}
ANNAS = Sender(kind=SenderKind.CONTACT, petname="anna", fingerprint="aaaa-bbbb-cccc-dddd")


@dataclass
class Books:
    """Purses of several runs over one database."""

    store: Store
    clock: list[float] = field(default_factory=lambda: [NOW])
    _bytes: Any = field(default_factory=lambda: itertools.count(1))

    def purse(self, run: RunRow, profile: Profile, **budgets: Any) -> RunPurse:
        ids = Ids(lambda size: next(self._bytes).to_bytes(size, "big"))
        chosen = Budgets(prices=CHEAP, **budgets)
        return RunPurse(self.store, run, profile, budgets=chosen, clock=lambda: self.clock[0], ids=ids)

    def run(self, **changes: Any) -> RunRow:
        with self.store.begin() as conn:
            return a_run(conn, **changes)

    def used(self, scope: Scope) -> Amount:
        with self.store.reading() as conn:
            return spending.used(conn, scope)


async def unasked() -> int:
    raise AssertionError("the provider was asked though there was room")


async def few() -> int:
    return 100


def scene(tmp_path: Path, play: Callable[[Books], Coroutine[Any, Any, None]]) -> None:
    with opened(tmp_path / "runner.db") as store:
        asyncio.run(play(Books(store)))


def limits(profile: Profile | None = None, *, tokens: int = 10_000, usd: float = 1000.0) -> Profile:
    chosen = profile or a_profile()
    return replace(chosen, limits=replace(chosen.limits, budget_tokens=tokens, budget_usd=usd))


def test_what_is_set_aside_counts_until_what_was_used_takes_its_place(tmp_path: Path) -> None:
    async def play(books: Books) -> None:
        run = books.run()
        purse, scope = books.purse(run, limits()), Scope(kind="run", name=run.id)
        hold = await purse.reserve(most=1000, count=unasked, max_tokens=4000)
        assert (hold.max_tokens, books.used(scope).tokens) == (4000, 5000)
        await purse.settle(hold, Spent(input_tokens=100, cache_read_tokens=500, output_tokens=50))
        assert books.used(scope) == Amount(tokens=650, micro_usd=100 + 50 + 100)
        await purse.settle(hold, Spent(input_tokens=9999))
        assert books.used(scope).tokens == 650

    scene(tmp_path, play)


def test_a_reply_gets_what_is_left_and_a_request_without_room_for_one_waits_for_a_person(tmp_path: Path) -> None:
    async def play(books: Books) -> None:
        run = books.run()
        purse = books.purse(run, limits(tokens=10_000))
        first = await purse.reserve(most=1000, count=unasked, max_tokens=5000)
        second = await purse.reserve(most=1000, count=unasked, max_tokens=5000)
        assert (first.max_tokens, second.max_tokens) == (5000, 3000)
        with pytest.raises(GatewayError, match="the run's budget of 10000 tokens is spent"):
            await purse.reserve(most=1000, count=few, max_tokens=5000)
        assert purse.spent.is_set()
        assert (purse.end().hold, purse.end().wait) == (purse.short, True)

    scene(tmp_path, play)


def test_the_provider_is_asked_how_long_the_input_is_before_a_run_is_stopped_for_it(tmp_path: Path) -> None:
    async def play(books: Books) -> None:
        purse = books.purse(books.run(), limits(tokens=MIN_REPLY + 200))
        assert (await purse.reserve(most=50_000, count=few, max_tokens=5000)).max_tokens == MIN_REPLY + 100
        assert not purse.spent.is_set()

    scene(tmp_path, play)


def test_a_cut_reply_is_charged_with_the_most_it_can_have_been_and_one_that_never_came_costs_nothing(tmp_path: Path) -> None:
    """M11: a crash in the middle of a stream is charged conservatively."""

    async def play(books: Books) -> None:
        run = books.run()
        purse, scope = books.purse(run, limits(tokens=100_000)), Scope(kind="run", name=run.id)
        cut = await purse.reserve(most=1000, count=unasked, max_tokens=5000)
        books.clock[0] += 4
        await purse.settle(cut, Spent(input_tokens=300, output_tokens=7, complete=False))
        assert books.used(scope).tokens == 300 + 5 * FASTEST
        late = await purse.reserve(most=1000, count=unasked, max_tokens=5000)
        books.clock[0] += 400
        await purse.settle(late, Spent(input_tokens=300, output_tokens=7, complete=False))
        assert books.used(scope).tokens == 300 + 5 * FASTEST + 5300
        none = await purse.reserve(most=1000, count=unasked, max_tokens=5000)
        await purse.settle(none, None)
        assert books.used(scope).tokens == 300 + 5 * FASTEST + 5300

    scene(tmp_path, play)


def test_a_request_whose_input_nobody_counted_is_charged_as_dear_as_input_can_be(tmp_path: Path) -> None:
    """M11: the gateway says the most it can have been; never more than was set aside, which may have been counted."""

    async def play(books: Books) -> None:
        run = books.run()
        scope = Scope(kind="run", name=run.id)
        purse = books.purse(run, limits(tokens=MIN_REPLY + 1000))
        hold = await purse.reserve(most=50_000, count=few, max_tokens=500)
        await purse.settle(hold, Spent(cache_write_tokens=50_000, complete=False))
        assert books.used(scope) == Amount(tokens=100 + FASTEST, micro_usd=125 + 2 * FASTEST)

    scene(tmp_path, play)


def test_what_a_dead_supervisor_had_set_aside_is_charged_with_the_most_it_can_have_come_to(tmp_path: Path) -> None:
    """M11: kill -9 in the middle of a stream; once, and never with more than was set aside."""

    async def play(books: Books) -> None:
        run = books.run()
        scope = Scope(kind="run", name=run.id)
        await books.purse(run, limits(tokens=100_000)).reserve(most=1000, count=unasked, max_tokens=50_000)
        for seconds, tokens in ((9.0, 1000 + 10 * FASTEST), (10_000.0, 1000 + 10 * FASTEST)):
            with books.store.begin() as conn:
                settle_left(conn, prices=CHEAP, now=NOW + seconds)
            assert books.used(scope) == Amount(tokens=tokens, micro_usd=1250 + 20 * FASTEST)
        await books.purse(run, limits(tokens=100_000)).reserve(most=1000, count=unasked, max_tokens=5000)
        with books.store.begin() as conn:
            settle_left(conn, prices=CHEAP, now=NOW + 10_000)
        assert books.used(scope).tokens == 1000 + 10 * FASTEST + 6000

    scene(tmp_path, play)


@pytest.mark.parametrize(
    ("budgets", "sender", "says"),
    [
        ({"agent": Budget(micro_usd=9000)}, None, "its agent's budget of the day of 0.01 USD"),
        ({"day": Budget(tokens=6000)}, None, "the day's budget of 6000 tokens"),
        ({"contact": Budget(tokens=6000)}, ANNAS, "its sender's budget of the day of 6000 tokens"),
    ],
)
def test_budgets_of_a_day_bind_runs_together_and_end_with_the_day(
    tmp_path: Path, budgets: dict[str, Budget], sender: Sender | None, says: str
) -> None:
    async def play(books: Books) -> None:
        changes = {} if sender is None else {"sender": sender}
        one, other = (books.purse(books.run(**changes), limits(tokens=MILLION), **budgets) for _ in range(2))
        await one.reserve(most=1000, count=unasked, max_tokens=3500)
        with pytest.raises(GatewayError, match=says):
            await other.reserve(most=1000, count=few, max_tokens=3500)
        books.clock[0] += 86_400
        assert (await other.reserve(most=1000, count=unasked, max_tokens=3500)).max_tokens == 3500

    scene(tmp_path, play)


def test_the_owners_captures_do_not_count_in_a_contacts_budget(tmp_path: Path) -> None:
    async def play(books: Books) -> None:
        budget = {"contact": Budget(tokens=5000)}
        await books.purse(books.run(sender=ANNAS), limits(), **budget).reserve(most=1000, count=unasked, max_tokens=4000)
        assert (await books.purse(books.run(), limits(), **budget).reserve(most=1000, count=few, max_tokens=4000)).id

    scene(tmp_path, play)


def test_what_a_person_adds_counts_for_the_scope_that_was_short(tmp_path: Path) -> None:
    async def play(books: Books) -> None:
        run = books.run()
        purse = books.purse(run, limits(tokens=3000))
        await purse.reserve(most=500, count=unasked, max_tokens=2500)
        with pytest.raises(GatewayError):
            await purse.reserve(most=500, count=few, max_tokens=2500)
        assert purse.short is not None
        with books.store.begin() as conn:
            spending.allow(conn, purse.short.scope, Amount(tokens=5000), id="b_1", by=ANNA, run=run.id, now=NOW)
        assert (await purse.reserve(most=500, count=unasked, max_tokens=2500)).max_tokens == 2500

    scene(tmp_path, play)


@settings(max_examples=30, deadline=None)
@given(
    budget=st.integers(0, 60_000),
    asks=st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 20_000)), min_size=1, max_size=12),
)
def test_requests_side_by_side_never_go_over_a_budget_together(
    tmp_path_factory: pytest.TempPathFactory, budget: int, asks: list[tuple[int, int]]
) -> None:
    """M11: whatever is asked for at once, what is set aside stays within the budget, and so does what is used."""

    async def play(books: Books) -> None:
        day = Scope(kind="day", name="", day="2023-11-14")
        purses = [books.purse(books.run(), limits(tokens=10**9), day=Budget(tokens=budget)) for _ in asks]

        async def ask(purse: RunPurse, most: int, reply: int) -> Hold | None:
            try:
                return await purse.reserve(most=most, count=lambda: _exactly(most), max_tokens=reply)
            except GatewayError:
                return None

        holds = await asyncio.gather(*(ask(purse, *each) for purse, each in zip(purses, asks, strict=True)))
        assert books.used(day).tokens <= budget
        for purse, hold, (most, _) in zip(purses, holds, asks, strict=True):
            if hold is not None:
                await purse.settle(hold, Spent(input_tokens=most, output_tokens=hold.max_tokens))
        assert books.used(day).tokens <= budget

    scene(tmp_path_factory.mktemp("books"), play)


async def _exactly(count: int) -> int:
    return count


def test_a_price_is_the_operators_then_the_list_s_then_the_dearest() -> None:
    own = {"claude-haiku-4": Price(input=0.5, output=1.0)}
    assert price_of("claude-haiku-4-5", own) == own["claude-haiku-4"]
    assert price_of("claude-haiku-3", own) == LISTED["claude-haiku"]
    dearest = price_of("a-model-of-my-own", own)
    assert (dearest.input, dearest.output) == (15.0, 75.0)


@given(
    st.builds(
        Spent,
        input_tokens=st.integers(0, 10**6),
        cache_write_tokens=st.integers(0, 10**6),
        cache_read_tokens=st.integers(0, 10**6),
        output_tokens=st.integers(0, 10**5),
    ),
    st.builds(Price, input=st.floats(0.01, 100), output=st.floats(0.01, 100)),
)
def test_nothing_costs_more_than_was_set_aside_for_as_much(spent: Spent, price: Price) -> None:
    inputs = spent.input_tokens + spent.cache_write_tokens + spent.cache_read_tokens
    most = at_most(inputs, spent.output_tokens, price)
    found = cost(spent, price)
    assert found.tokens == most.tokens
    assert 0 <= found.micro_usd <= most.micro_usd + 1


def test_a_hold_says_whose_budget_it_is_and_how_much() -> None:
    hold = spending.BudgetHold(run=a_run_id(), scope="run:x", what="usd", used=970_000, most=MILLION, created=NOW)
    assert words(hold) == "the run's budget of 1.00 USD is spent (0.97 USD used)"


def a_run_id() -> Any:
    return "r_0000000000000000"
