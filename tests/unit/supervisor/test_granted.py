"""Grants at work: a covered call runs from the queue like all others, as often as granted, until it is revoked (D3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner import approvals
from runner.approvals import WITHDRAWN
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import OWNER, JsonObject, Policy, Sender, SenderKind, Verdict
from runner.policy.grants import Wish
from runner.policy.taint import Taint, TaintKind
from runner.profiles.codec import profile_digest
from runner.store import ApprovalRow, RunRow, audit, grants, taints
from runner.store import approvals as rows
from runner.supervisor.grants import Grants
from runner.supervisor.standing import StandingYes
from tests.helpers.stored import ANNA, NOW
from tests.unit.supervisor.acting import gate
from tests.unit.supervisor.choosing import desk_of
from tests.unit.supervisor.world import (
    WRITE,
    RunState,
    World,
    a_turn,
    arguments_of,
    play,
    read,
    settled,
    states,
    write,
)

_S = ApprovalState
MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")


def perform(folder: Path, scene: Callable[[World], Coroutine[Any, Any, None]], **profile: Any) -> None:
    """Play a scene whose profile has the digest that it is stored under."""

    async def digested(world: World) -> None:
        world.profile = replace(world.profile, digest=profile_digest(world.profile))
        await scene(world)

    play(folder, digested, **profile)


def given(world: World) -> Grants:
    return Grants(store=world.store, changes=world.changes, clock=world.clock, ids=world.ids, ceiling=Policy.SKIP)


async def grant(world: World, tool: str = "Write", **more: Any) -> JsonObject:
    world.a_run()  # publishes the profile
    wish = Wish(**({"agent": "scribe", "tool": tool, "seconds": 3600, "uses": 5, "match": {}} | more))
    return await given(world).give(wish, who=ANNA)


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[None]:
    stop = StandingYes(store=world.store, effects=world.effects, changes=world.changes).start()
    try:
        yield
    finally:
        await stop()


async def asked(world: World, *uses: Any) -> tuple[RunRow, tuple[ApprovalRow, ...]]:
    row = world.a_running()
    await world.desk(row).take_turn(a_turn(*uses))
    return world.run(row.id), world.approvals(row.id)


def used(world: World, ref: object) -> int:
    with world.store.reading() as conn:
        return grants.find(conn, str(ref)).used


def test_a_covered_call_runs_and_its_row_names_the_grant(tmp_path: Path) -> None:
    """One row, one intent, one outcome; the grant said yes."""

    async def scene(world: World) -> None:
        found = await grant(world, path="out")
        row = world.a_running()
        desk, call = world.desk(row), write("out/a.txt", "A")
        async with watching(world):
            await desk.take_turn(a_turn(call))
            assert world.run(row.id).state is RunState.RUNNING
            assert (await desk.ask(WRITE, arguments_of(call))).allowed
            assert (await desk.confirm(WRITE, arguments_of(call))).allowed
            told = await desk.outcome(WRITE, arguments_of(call))
        (done,) = world.approvals(row.id)
        (recorded,) = world.calls(row.id)
        assert (recorded.verdict, recorded.rank, recorded.rule) == (Verdict.ALLOW, 0, "grant")
        assert (done.state, done.effect, grants.grant_of(done)) == (_S.DONE, "done", found["id"])
        assert done.decided_by is not None
        assert (done.decided_by.uid, done.decided_by.channel) == (ANNA.uid, "grant")
        assert (told.is_error, (world.cwd / "out" / "a.txt").read_text()) == (False, "A")
        assert used(world, found["id"]) == 1
        with world.store.reading() as conn:
            events = [one.event for one in audit.of_subject(conn, done.id)]
        assert events[:4] == ["approval.request", "approval.approve", "approval.execute", "approval.succeed"]

    perform(tmp_path, scene, strict=False)


def test_a_call_that_is_not_covered_waits_beside_one_that_is(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await grant(world, match={"file_path": "out/*.txt"})
        run, found = await asked(world, write("out/a.txt"), write("b.txt"), write("out/../c.txt"))
        assert (states(found), run.state) == ([_S.APPROVED, _S.PENDING, _S.PENDING], RunState.HELD)

    perform(tmp_path, scene, strict=False)


def test_a_turn_with_more_calls_than_uses_asks_about_the_rest(tmp_path: Path) -> None:
    """The count is taken in the transaction that opens the row, so it is never exceeded."""

    async def scene(world: World) -> None:
        found = await grant(world, uses=2)
        row, opened = await asked(world, *(write(f"{number}.txt") for number in range(4)))
        assert states(opened) == [_S.APPROVED, _S.APPROVED, _S.PENDING, _S.PENDING]
        assert [call.rule for call in world.calls(row.id)] == ["grant", "grant", "not_covered", "not_covered"]
        assert used(world, found["id"]) == 2
        _, later = await asked(world, write("later.txt"))
        assert states(later) == [_S.PENDING]

    perform(tmp_path, scene, strict=False)


def test_where_nobody_can_be_asked_the_rest_is_refused(tmp_path: Path) -> None:
    """L5."""

    async def scene(world: World) -> None:
        await grant(world, uses=1)
        row, opened = await asked(world, write("1.txt"), write("2.txt"))
        assert states(opened) == [_S.APPROVED]
        assert [call.rule for call in world.calls(row.id)] == ["grant", "no_channel"]

    perform(tmp_path, scene, strict=False, unattended=True)


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_grant_that_ends_between_match_and_dispatch_stops_the_call(how: str, tmp_path: Path) -> None:
    """The race of D3: the row is approved, nothing has begun."""

    async def scene(world: World) -> None:
        found = await grant(world, seconds=30)
        row, (let_in,) = await asked(world, write("a.txt"))
        assert let_in.state is _S.APPROVED
        if how == "revoked":
            await given(world).revoke(str(found["id"]), who=ANNA)
        else:
            world.now = NOW + 30
        ended = await world.effects.carry_out(let_in.id)
        assert (ended.state, ended.decision_reason) == (_S.STALE, WITHDRAWN)
        (call,) = world.calls(row.id)
        assert (WITHDRAWN in (call.outcome or ""), list(world.cwd.glob("a.txt"))) == (True, [])

    perform(tmp_path, scene, strict=False)


def test_a_revoke_between_the_look_and_the_beginning_still_stops_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has looked already finds it gone in the transaction that would begin the effect."""

    async def scene(world: World) -> None:
        found = await grant(world)
        _, (let_in,) = await asked(world, write("a.txt"))
        act = gate(world, monkeypatch)
        with world.store.begin() as conn:
            grants.revoke(conn, grants.find(conn, str(found["id"])).id, who=ANNA, now=NOW)
            assert approvals.begin_effect(conn, let_in.id, now=NOW) is None
        assert (world.approval(let_in.id).state, act.seen) == (_S.STALE, [])

    perform(tmp_path, scene, strict=False)


def test_a_revoke_is_for_the_next_call_of_a_running_run_too(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        found = await grant(world)
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt")))
        await given(world).revoke(str(found["id"]), who=ANNA)
        await desk.take_turn(a_turn(write("b.txt")))
        assert states(world.approvals(row.id))[-1] is _S.PENDING

    perform(tmp_path, scene, strict=False)


def test_what_a_grant_let_in_before_it_was_used_up_is_still_carried_out(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        await grant(world, uses=1)
        _, (let_in,) = await asked(world, write("a.txt"))
        assert (await world.effects.carry_out(let_in.id)).state is _S.DONE

    perform(tmp_path, scene, strict=False)


def test_a_granted_read_under_ask_runs_in_the_container_and_is_counted(tmp_path: Path) -> None:
    """R68; strict is on, since a confined read is let through there."""

    async def scene(world: World) -> None:
        found = await grant(world, "Read", path="in.txt", uses=1)
        row = world.a_running()
        desk, call = world.desk(row), read("in.txt")
        async with watching(world):
            await desk.take_turn(a_turn(call))
            assert (await desk.ask("Read", arguments_of(call))).allowed
            assert (await desk.confirm("Read", arguments_of(call))).allowed
        assert (states(world.approvals(row.id)), used(world, found["id"])) == ([_S.DONE], 1)
        await desk.take_turn(a_turn(read("in.txt")))
        assert states(world.approvals(row.id)) == [_S.DONE, _S.PENDING]

    perform(tmp_path, scene, policy=Policy.ASK)


def test_a_contacts_run_uses_no_grant(tmp_path: Path) -> None:
    """Invariant 10."""

    async def scene(world: World) -> None:
        found = await grant(world)
        row = world.a_running(sender=MARIA)
        await desk_of(world, row, MARIA).take_turn(a_turn(write("a.txt")))
        assert (states(world.approvals(row.id)), used(world, found["id"])) == ([_S.PENDING], 0)

    perform(tmp_path, scene, strict=False)


@pytest.mark.parametrize(("sender", "state"), [(MARIA, _S.PENDING), (OWNER, _S.APPROVED), (None, _S.APPROVED)])
def test_a_run_with_a_contacts_words_in_it_uses_no_grant(sender: Sender | None, state: ApprovalState, tmp_path: Path) -> None:
    """P4, R57: the owner's run has read a file that a contact's run left."""

    async def scene(world: World) -> None:
        await grant(world)
        row = world.a_running()
        with world.store.begin() as conn:
            taints.add(conn, row.id, [Taint(kind=TaintKind.FILE, source="in.txt", sender=sender)], now=NOW)
        await world.desk(row).take_turn(a_turn(write("a.txt")))
        assert states(world.approvals(row.id)) == [state]

    perform(tmp_path, scene, strict=False)


def test_a_call_that_a_person_denied_in_this_run_is_not_let_in_by_a_grant(tmp_path: Path) -> None:
    """B10: their no to this very call is more than a yes to calls in general."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(write("a.txt")))
        await world.deny(world.approvals(row.id)[0])
        await grant(world)
        await desk.take_turn(a_turn(write("a.txt"), write("b.txt")))
        assert states(world.approvals(row.id)) == [_S.DENIED, _S.DENIED, _S.APPROVED]

    perform(tmp_path, scene, strict=False)


def test_what_a_grant_let_in_survives_a_crash_and_happens_once(tmp_path: Path) -> None:
    """B8: approved rows are carried out by recovery, whoever said yes."""

    async def scene(world: World) -> None:
        await grant(world)
        _, (let_in,) = await asked(world, write("a.txt"))
        async with watching(world):
            await settled(lambda: world.approval(let_in.id).state is _S.DONE)
        with world.store.begin() as conn:
            assert rows.move(conn, let_in.id, ApprovalEvent.EXECUTE, now=NOW) is None
        assert (await world.effects.carry_out(let_in.id)).state is _S.DONE
        with world.store.reading() as conn:
            events = [one.event for one in audit.of_subject(conn, let_in.id)]
        assert events.count("approval.execute") == 1

    perform(tmp_path, scene, strict=False)
