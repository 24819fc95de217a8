"""Notices to real HTTP servers over a real database: once settled, until taken, the same at every try (C4, C6)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from runner import approvals
from runner.lifecycle import ApprovalEvent, ApprovalState, CaptureEvent, RunEvent
from runner.model import CaptureId, RunId, Sender, SenderKind
from runner.notify.timing import Timing
from runner.notify.worker import Pace
from runner.store import ApprovalRow, CaptureRow, Store, audit, captures, runs, spending
from runner.store import approvals as rows
from runner.store.spending import BudgetHold
from tests.helpers.notices import Watcher, apprise_to, receiving, webhook_to
from tests.helpers.stored import ANNA, NOW, a_request, a_run, an_approval, approved, fresh, opened, queue


def asked(store: Store, run: RunId | None = None, **changes: object) -> ApprovalRow:
    with store.begin() as conn:
        return an_approval(conn, run, **changes)


def events(store: Store, subject: str) -> list[str]:
    with store.reading() as conn:
        return [row.event for row in audit.of_subject(conn, subject)]


def test_a_call_that_waits_past_the_settle_time_is_told_once(store: Store) -> None:
    """C1, C6, A2."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        row = asked(store)
        watcher.tick(19)
        assert server.got == []
        watcher.tick(2)
        watcher.tick(60)
        (got,) = server.got
        lines = got.json["message"].splitlines()
        assert got.json["title"] == "runner: a call waits for you"
        assert lines[:3] == ["agent: scribe", "tool: Write", "why: ask"]
        assert lines[3] == f"id: {row.id[:10]}"
        assert lines[4].startswith("expires: 2023-11-14 ")
        assert events(store, row.id)[-1] == "approval.notified"


def test_what_is_decided_while_it_settles_is_told_to_nobody(store: Store) -> None:
    """C6."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        with store.begin() as conn:
            approved(conn)
        watcher.tick(60)
        assert server.got == []
        assert watcher.summary()["channels"][0]["waiting"] == 0


def test_a_flood_is_one_notice_that_names_some_and_counts_all(store: Store) -> None:
    """C6, L8, A38: bursts coalesce."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        with store.begin() as conn:
            for _ in range(3):
                run = a_run(conn)
                for _ in range(10):
                    an_approval(conn, run.id)
        watcher.tick(21)
        (got,) = server.got
        assert got.json["title"] == "runner: 30 calls wait for you"
        assert got.json["message"].count("agent: scribe") == 10
        assert "and 20 more" in got.json["message"]


def test_calls_over_a_cap_are_one_notice_too(store: Store) -> None:
    """L8: the model is told no, people are told that there were such."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        with store.begin() as conn:
            run = a_run(conn)
        for number in range(25):
            with store.begin() as conn:
                queue(conn, a_request(conn, run.id, raw=f'{{"file_path":"{number}.txt","content":"x"}}'))
        watcher.tick(21)
        assert [got.json["title"] for got in server.got] == [
            "runner: 20 calls wait for you",
            "runner: 5 calls were refused: too many wait",
        ]


def test_half_and_nine_tenths_of_the_time_are_told(store: Store) -> None:
    """L4; an extended deadline is another one."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        row = asked(store)
        watcher.tick(1801)
        titles = [got.json["title"] for got in server.got]
        assert titles == ["runner: a call has waited half its time", "runner: a call waits for you"]
        watcher.tick(1440)
        watcher.tick(100)
        with store.begin() as conn:
            rows.extend(conn, row, expires=NOW + 36000, by=ANNA, now=watcher.now)
        watcher.tick(18000)
        assert [got.json["title"] for got in server.got[2:]] == [
            "runner: a call expires soon",
            "runner: a call has waited half its time",
        ]


def test_a_call_first_seen_near_its_end_is_told_that_and_not_its_half(store: Store) -> None:
    """L4: after a long pause of the supervisor."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        asked(store)
        watcher.tick(3500)
        assert [got.json["title"] for got in server.got] == ["runner: a call expires soon", "runner: a call waits for you"]


def test_a_strangers_capture_is_told_without_a_word_of_theirs(store: Store) -> None:
    """C1: a stub's content is shown to nobody before it is accepted."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        stranger = Sender(kind=SenderKind.CONTACT, petname=None, fingerprint="f" * 16)
        with store.begin() as conn:
            row = CaptureRow(id=CaptureId(fresh("c")), agent="scribe", sender=stranger, text='{"note":"hi"}', created=NOW)
            captures.insert(conn, row)
            captures.move(conn, row.id, CaptureEvent.HOLD, now=NOW)
        watcher.tick(21)
        (got,) = server.got
        assert got.json["title"] == "runner: a capture waits to be accepted"
        lines = ["agent: scribe", "why: a sender nobody has verified", f"id: {row.id[:10]}", "", "look: runner todo"]
        assert got.json["message"].splitlines()[:5] == lines


def test_a_spent_budget_is_told_unless_it_was_raised_meanwhile(store: Store) -> None:
    """M11, C6."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        with store.begin() as conn:
            waits, goes_on = a_run(conn), a_run(conn)
            for run in (waits, goes_on):
                for event in (RunEvent.CLAIM, RunEvent.PARK):
                    runs.move(conn, run.id, event, now=NOW)
                spent = BudgetHold(run=run.id, scope=f"run:{run.id}", what="usd", used=9, most=10, created=NOW)
                spending.hold(conn, spent)
            runs.move(conn, goes_on.id, RunEvent.RESUME, now=NOW)
        watcher.tick(21)
        (got,) = server.got
        assert got.json["title"] == "runner: a run waits for more budget"
        lines = ["agent: scribe", "why: its budget is spent", f"id: {waits.id[:10]}"]
        assert got.json["message"].splitlines()[:3] == lines


def test_an_effect_that_nobody_knows_about_is_told(store: Store) -> None:
    """B9, C1."""
    with receiving() as server:
        watcher = Watcher(store, apprise_to(server))
        with store.begin() as conn:
            row = approved(conn)
            approvals.begin_effect(conn, row.id, now=NOW)
            approvals.finish_effect(conn, row.id, event=ApprovalEvent.DOUBT, outcome="killed", now=NOW)
        watcher.tick(21)
        assert [got.json["title"] for got in server.got] == ["runner: nobody knows whether an effect happened"]


def test_a_channel_that_fails_gets_it_again_later_with_the_same_key(store: Store) -> None:
    """C4: retry with back-off, idempotency key; each try is signed for its own time."""
    with receiving(500, 503, 200) as server:
        watcher = Watcher(store, (webhook_to(server, lambda: watcher.now),))
        asked(store)
        for seconds in (21, 1, 5, 1, 10, 60):
            watcher.tick(seconds)
        assert len(server.got) == 3
        assert len({got.key for got in server.got}) == 1
        assert len({got.body for got in server.got}) == 1
        assert len({got.headers["runner-timestamp"] for got in server.got}) == 3
        assert watcher.summary()["channels"][0] | {"name": ""} == {
            "name": "",
            "waiting": 0,
            "dead": 0,
            "delivered": 1,
            "error": None,
        }


def test_a_channel_that_never_takes_it_is_given_up_and_shown(store: Store) -> None:
    """C4: dead letters."""
    with receiving(500) as server:
        watcher = Watcher(store, (webhook_to(server),))
        asked(store, expires_at=NOW + 10**7)
        for _ in range(8):
            watcher.tick(3600)
        assert len(server.got) == 4
        (channel,) = watcher.summary()["channels"]
        assert (channel["dead"], channel["waiting"], channel["error"]) == (1, 0, "it answered 500")
        with store.reading() as conn:
            assert "notice.give_up" in [row.event for row in audit.after(conn, 0, 100)]


def test_a_channel_that_hangs_holds_up_no_other_and_no_decision(store: Store) -> None:
    """C4: a channel's failure never blocks, approves or denies."""
    with receiving(0) as hanging, receiving() as good:
        channels = (webhook_to(hanging), *apprise_to(good))
        watcher = Watcher(store, channels, pace=Pace(deadline=0.3, tries=3))
        row, _ = asked(store), asked(store)

        async def scene() -> None:
            watcher.now += 21
            await watcher.notifier.tick()
            await asyncio.to_thread(decide, store, row)
            await watcher.notifier.delivered()

        asyncio.run(scene())
        assert len(good.got) == 1
        by_name = {one["name"]: one for one in watcher.summary()["channels"]}
        assert by_name["webhook"]["error"] == "it did not answer within 0.3 s"
        with store.reading() as conn:
            assert rows.get(conn, row.id).state is ApprovalState.APPROVED
        watcher.tick(60)
        assert len(hanging.got) == 1


def decide(store: Store, row: ApprovalRow) -> None:
    with store.begin() as conn:
        approvals.approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW + 21)


def test_what_was_decided_while_its_channel_was_down_is_not_told_late(store: Store) -> None:
    """C6: nobody is called to a desk that is empty."""
    with receiving(500, 200) as server:
        watcher = Watcher(store, (webhook_to(server),))
        row = asked(store)
        watcher.tick(21)
        decide(store, row)
        watcher.tick(600)
        assert len(server.got) == 1
        (channel,) = watcher.summary()["channels"]
        assert (channel["waiting"], channel["dead"], channel["error"]) == (0, 0, "it answered 500")


def test_a_kill_between_event_and_delivery_loses_nothing_and_a_double_has_the_same_key(tmp_path: Path) -> None:
    """At least once: noted but not made, made but not sent, sent but not recorded."""
    with receiving() as server:
        with opened(tmp_path / "runner.db") as store:
            asked(store)
            watcher = Watcher(store, (webhook_to(server),))
            watcher.tick(1)  # noted
        with opened(tmp_path / "runner.db") as store:
            watcher = Watcher(store, (webhook_to(server),), now=NOW + 21)
            watcher.notifier._record = lambda *_: None  # type: ignore[method-assign]  # killed before it is recorded
            watcher.tick()
        with opened(tmp_path / "runner.db") as store:
            watcher = Watcher(store, (webhook_to(server),), now=NOW + 60)
            watcher.tick()
            watcher.tick(60)
        assert len(server.got) == 2
        assert len({got.key for got in server.got}) == 1


def test_a_channel_that_was_removed_leaves_its_notices_as_dead_letters(store: Store) -> None:
    with receiving(500) as server:
        watcher = Watcher(store, (webhook_to(server),))
        asked(store)
        watcher.tick(21)
        other = Watcher(store, apprise_to(server), pace=Pace(tick=0.01))

        async def scene() -> None:
            stop = other.notifier.start()
            await asyncio.sleep(0.1)
            await stop()

        asyncio.run(scene())
        found = {one["name"]: one for one in other.summary()["channels"]}
        assert found["webhook"]["dead"] == 1


def test_quiet_hours_delay_and_a_digest_gathers(store: Store) -> None:
    """C6: neither decides anything."""
    with receiving() as server:
        quiet = Watcher(store, apprise_to(server), timing=Timing(settle=20))
        start = quiet.timing.local(NOW)
        minute = start.replace(second=0, microsecond=0)
        span = (minute.time(), minute.replace(hour=(start.hour + 1) % 24).time())
        quiet = Watcher(store, apprise_to(server), timing=Timing(settle=20, quiet=span))
        row = asked(store, expires_at=NOW + 10**6)
        quiet.tick(600)
        assert server.got == []
        with store.reading() as conn:
            assert rows.get(conn, row.id).state is ApprovalState.PENDING
        quiet.tick(3600)
        assert len(server.got) == 1


def test_between_two_digests_only_what_is_urgent_is_told(store: Store) -> None:
    with receiving() as server:
        hour = Timing(settle=0).local(NOW + 7200).time().replace(second=0, microsecond=0)
        watcher = Watcher(store, apprise_to(server), timing=Timing(settle=20, digests=(hour,)))
        asked(store, expires_at=NOW + 10**6)
        watcher.tick(60)
        asked(store, expires_at=NOW + 10**6)
        watcher.tick(3600)
        assert server.got == []
        watcher.tick(3600)
        assert [got.json["title"] for got in server.got] == ["runner: 2 calls wait for you"]
