"""The owner's side of agents: each change binds at the next call, and none survives what it belonged to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import DigestMismatchError, NotAllowedError, NotFoundError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import Digest, Policy, Sender, SenderKind, Verdict
from runner.policy import SavedVerdict
from runner.profiles import profile_digest
from runner.store import audit
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.choosing import agents, choose, desk_of, published, save, saved
from tests.unit.supervisor.world import World, a_turn, play, read, states, write

_S = ApprovalState
MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")


def test_tools_are_listed_with_what_they_are_what_is_saved_and_what_a_call_is_answered(tmp_path: Path) -> None:
    """R87, R126."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        assert (await agents(world).save("scribe", "Write", "block", who=ANNA))["saved"] == "block"
        found = await agents(world).tools("scribe")
        rows = {str(row["name"]): row for row in found["tools"] if isinstance(row, dict)}  # type: ignore[union-attr]
        assert list(rows) == ["Read", "Glob", "Grep", "Write", "Edit"]
        assert rows["Write"] == {
            "name": "Write",
            "class": "write",
            "reversible": False,
            "returns_untrusted": False,
            "egress": False,
            "saved": "block",
            "set_by": "anna",
            "set_at": world.now,
            "verdict": "deny",
            "word": "blocked",
        }
        assert (rows["Read"]["verdict"], rows["Edit"]["verdict"], rows["Edit"]["saved"]) == ("allow", "ask", None)

    play(tmp_path, scene)


def test_what_no_profile_lists_has_no_verdict(tmp_path: Path) -> None:
    """R44, R137."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        side = agents(world)
        for tool in ("Bash", "mcp__runner__Write", "", "write"):
            with pytest.raises(NotFoundError):
                await side.save("scribe", tool, "allow", who=ANNA)
        with pytest.raises(NotFoundError):
            await side.save("nobody", "Write", "allow", who=ANNA)
        with pytest.raises(UsageError):
            await side.save("scribe", "Write", "always", who=ANNA)
        with pytest.raises(UsageError):
            await side.choose("everything", None, who=ANNA)
        assert saved(world) == {}

    play(tmp_path, scene)


def test_a_useless_allow_and_a_block_on_waiting_calls_say_so(tmp_path: Path) -> None:
    """C4: in a strict run a saved allow still asks."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        _, (waiting,) = await held(world)
        allow = await agents(world).save("scribe", "Write", "allow", who=ANNA)
        block = await agents(world).save("scribe", "Write", "block", who=ANNA)
        assert "still wait" in str(allow["note"])
        assert (block["waiting"], "can no longer be approved" in str(block["note"])) == ([waiting.id], True)
        assert (await agents(world).save("scribe", "Edit", "block", who=ANNA))["note"] == ""

    play(tmp_path, scene)


def test_retiring_forgets_and_the_runs_under_way_keep_their_profile(tmp_path: Path) -> None:
    """R137: an agent published again starts without."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        _, (waiting,) = await held(world)
        save(world, "Edit", SavedVerdict.ALLOW)
        await agents(world).retire("scribe", who=ANNA)
        assert saved(world) == {}
        with pytest.raises(NotFoundError, match="retired"):
            await agents(world).tools("scribe")
        assert (await world.approve(waiting)).state is _S.DONE

    play(tmp_path, scene)


def test_a_block_outlives_its_agents_service_for_the_runs_under_way(tmp_path: Path) -> None:
    """R108: retiring an agent, or publishing it without a tool, looses no block of a run that still has the tool."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        _, (waiting,) = await held(world)
        save(world, "Write", SavedVerdict.BLOCK)
        narrower = replace(world.profile, tools=("Read",))
        published(world, replace(narrower, digest=profile_digest(narrower)))
        with pytest.raises(NotAllowedError):
            await world.approve(waiting)
        await agents(world).retire("scribe", who=ANNA)
        with pytest.raises(NotAllowedError):
            await world.approve(waiting)

    play(tmp_path, scene)


def test_a_run_that_is_held_keeps_its_profile_when_another_is_published(tmp_path: Path) -> None:
    """Runs refer to the digest (issue 4 item 5)."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        row, (waiting,) = await held(world)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        other = a_profile(cwd=elsewhere, tools=("Read",))
        published(world, replace(other, digest=profile_digest(other)))
        assert world.run(row.id).profile_digest == world.profile.digest
        assert (await world.approve(waiting)).state is _S.DONE
        assert ((world.cwd / "a.txt").exists(), list(elsewhere.iterdir())) == (True, [])

    play(tmp_path, scene)


def test_the_owners_default_counts_for_a_profile_that_names_none_and_at_the_next_call(tmp_path: Path) -> None:
    """R66-R69: `ask` until set."""

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(read("in.txt")))
        choose(world, Policy.READ_ONLY)
        await desk.take_turn(a_turn(read("in.txt")))
        choose(world, Policy.READ_ONLY, ceiling=Policy.ASK)
        await desk.take_turn(a_turn(read("in.txt")))
        assert [(call.verdict, call.rule) for call in world.calls(row.id)] == [
            (Verdict.ASK, "not_covered"),
            (Verdict.ALLOW, "covered_in_manual"),
            (Verdict.ASK, "ceiling"),
        ]

    play(tmp_path, scene, policy=None)


def test_the_policy_is_told_with_both_ceilings(tmp_path: Path) -> None:
    """R75."""

    async def scene(world: World) -> None:
        side = agents(world, ceiling=Policy.READ_ONLY)
        assert await side.policy() == {
            "policy": "ask",
            "set": False,
            "ceiling": "read_only",
            "owner_ceiling": None,
            "host_ceiling": "read_only",
        }
        found = await side.choose("skip", "ask", who=ANNA)
        assert (found["policy"], found["set"], found["ceiling"], found["owner_ceiling"]) == ("skip", True, "ask", "ask")

    play(tmp_path, scene)


def test_a_verdict_is_saved_with_the_decision_or_not_at_all(tmp_path: Path) -> None:
    """R144: one transaction, one history."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        _, (first, second) = await held(world, write("a.txt"), write("b.txt"))
        also = agents(world).with_decision("allow", who=ANNA)
        wrong = Digest("sha256:" + "0" * 64)
        with pytest.raises(DigestMismatchError):
            await world.effects.approve(first.id, digest=wrong, who=ANNA, reason=None, also=also)
        assert saved(world) == {}
        done = await world.effects.approve(first.id, digest=first.approval_digest, who=ANNA, reason=None, also=also)
        assert (done.state, saved(world)) == (_S.DONE, {"Write": "allow"})
        block = agents(world).with_decision("block", who=ANNA)
        assert (await world.effects.deny(second.id, who=ANNA, reason=None, also=block)).state is _S.DENIED
        assert saved(world) == {"Write": "block"}
        with world.store.reading() as conn:
            events = [row.event for row in audit.of_subject(conn, "scribe") if row.event.startswith("verdict")]
        assert events == ["verdict.set", "verdict.set"]

    play(tmp_path, scene)


def test_a_contacts_call_saves_no_allow(tmp_path: Path) -> None:
    """C4, invariant 10: nothing a contact sent may loosen the owner's runs; the call goes on waiting."""

    async def scene(world: World) -> None:
        published(world, world.profile)
        row = world.a_running(sender=MARIA)
        await desk_of(world, row, MARIA).take_turn(a_turn(write("a.txt")))
        (waiting,) = world.approvals(row.id)
        also = agents(world).with_decision("allow", who=ANNA)
        with pytest.raises(NotAllowedError):
            await world.effects.approve(waiting.id, digest=waiting.approval_digest, who=ANNA, reason=None, also=also)
        assert (states(world.approvals(row.id)), saved(world)) == ([_S.PENDING], {})
        block = agents(world).with_decision("block", who=ANNA)
        await world.effects.deny(waiting.id, who=ANNA, reason=None, also=block)
        assert saved(world) == {"Write": "block"}

    play(tmp_path, scene)
