"""Attack: many hands on one approval at once. Exactly one wins, the others are told who did, nothing happens twice (L1, B8)."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.approvals import approve, begin_effect, deliver, deny, expire_due, finish_effect
from runner.errors import AlreadyDecidedError, ApprovalExpiredError, RunnerError
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.store import Approver, Connection, Store, approvals, audit
from tests.helpers.stored import NOW, an_approval, approved, opened

HANDS = 50


def race(store: Store, tasks: list[Callable[[Connection], object]]) -> list[object]:
    """Each task in a thread and a transaction of its own, all let go at the same moment; what each gave or raised."""
    gate = threading.Barrier(len(tasks))
    results: list[object] = [None] * len(tasks)

    def run(place: int) -> None:
        gate.wait()
        try:
            with store.begin() as conn:
                results[place] = tasks[place](conn)
        except RunnerError as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_fifty_deciders_on_one_approval_have_exactly_one_winner(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store:
        with store.begin() as conn:
            row = an_approval(conn)

        def yes(who: Approver) -> Callable[[Connection], object]:
            return lambda conn: approve(conn, row.id, digest=row.approval_digest, who=who, reason=None, now=NOW)

        def no(who: Approver) -> Callable[[Connection], object]:
            return lambda conn: deny(conn, row.id, who=who, reason=None, now=NOW)

        hands = [Approver(uid=n, channel="cli", name=f"person {n}") for n in range(HANDS)]
        results = race(store, [(yes if who.uid % 2 else no)(who) for who in hands])
        winners = [result for result in results if not isinstance(result, RunnerError)]
        losers = [result for result in results if isinstance(result, RunnerError)]
        with store.begin() as conn:
            now = approvals.get(conn, row.id)
            assert winners == [now]
            assert [link.event for link in audit.of_subject(conn, row.id)][1:] in (["approval.approve"], ["approval.deny"])
            assert audit.verify(conn) is None
    assert now.decided_by is not None
    assert {type(error) for error in losers} == {AlreadyDecidedError}
    assert all(f"already {now.state.value} by {now.decided_by.name} (cli)" in str(error) for error in losers)


def test_deciding_against_the_clock_ends_in_one_state(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store:
        with store.begin() as conn:
            row = an_approval(conn)
        who = Approver(uid=1, channel="cli")

        def decide(conn: Connection) -> object:
            return approve(conn, row.id, digest=row.approval_digest, who=who, reason=None, now=NOW)

        results = race(store, [decide, lambda conn: expire_due(conn, row.expires)] * 10)
        with store.begin() as conn:
            now = approvals.get(conn, row.id)
            changes = [link.event for link in audit.of_subject(conn, row.id)]
    assert changes[1:] in (["approval.approve"], ["approval.expire"])
    refused = AlreadyDecidedError if now.state is ApprovalState.APPROVED else ApprovalExpiredError
    assert {type(result) for result in results if isinstance(result, RunnerError)} == {refused}


def test_fifty_brokers_begin_one_effect_once(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store:
        with store.begin() as conn:
            row = approved(conn)
        results = race(store, [lambda conn: begin_effect(conn, row.id, now=NOW)] * HANDS)
    assert len([result for result in results if result is not None]) == 1


def test_an_outcome_asked_for_fifty_times_is_told_once(tmp_path: Path) -> None:
    with opened(tmp_path / "runner.db") as store:
        with store.begin() as conn:
            row = approved(conn)
            begin_effect(conn, row.id, now=NOW)
            finish_effect(conn, row.id, event=ApprovalEvent.SUCCEED, outcome="done it", now=NOW)
        results = race(store, [lambda conn: deliver(conn, row.id, now=NOW)] * HANDS)
    assert sorted(results, key=str) == [None] * (HANDS - 1) + ["done it"]


@pytest.mark.parametrize("refused", [ApprovalState.DENIED, ApprovalState.APPROVED])
def test_deciders_in_several_processes_have_one_winner(tmp_path: Path, refused: ApprovalState) -> None:
    """Two supervisors' worth of engines on one file: the lock is the database's, not the process's."""
    path = tmp_path / "runner.db"
    with opened(path) as one, opened(path) as two:
        with one.begin() as conn:
            row = an_approval(conn)
        first, second = (one, two) if refused is ApprovalState.DENIED else (two, one)
        with first.begin() as conn:
            approve(conn, row.id, digest=row.approval_digest, who=Approver(uid=1, channel="cli"), reason=None, now=NOW)
        with pytest.raises(AlreadyDecidedError), second.begin() as conn:
            deny(conn, row.id, who=Approver(uid=2, channel="cli"), reason=None, now=NOW)


def test_of_many_signers_at_once_three_are_counted_and_the_call_is_begun_once(tmp_path: Path) -> None:
    """D5, L1: each hand signs and tries to begin; half of them share one key."""
    with opened(tmp_path / "runner.db") as store:
        with store.begin() as conn:
            row = an_approval(conn, required=3)

        def yes(number: int) -> Callable[[Connection], object]:
            key = f"key {number if number % 2 else 0}"
            who = Approver(uid=1, channel="cli", name=key, method="key", key_id=key)
            return lambda conn: approve(conn, row.id, digest=row.approval_digest, who=who, reason=None, now=NOW)

        def begin(conn: Connection) -> object:
            return begin_effect(conn, row.id, now=NOW)

        results = race(store, [task for number in range(HANDS // 2) for task in (yes(number), begin)])
        begun = race(store, [begin] * 4)
        with store.begin() as conn:
            events = [link.event for link in audit.of_subject(conn, row.id)]
            assert audit.verify(conn) is None
    assert events.count("approval.sign") == 3
    assert (events.count("approval.approve"), events.count("approval.execute")) == (1, 1)
    rows = [one for one in (*results, *begun) if not isinstance(one, RunnerError) and one is not None]
    assert [one.state.value for one in rows].count("executing") == 1  # type: ignore[attr-defined]
