"""Giving grants: shown with calls of the past, bounded, refused wherever the decision would not follow (D3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.errors import AlreadyDecidedError, NotAllowedError, NotFoundError, RunnerError, UsageError
from runner.model import ApprovalSettings, Policy
from runner.policy import SavedVerdict
from runner.supervisor.grants import MOST_LIVE, Grants
from tests.helpers.stored import ANNA, NOW
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.choosing import published, save
from tests.unit.supervisor.test_granted import Wish, given, grant, perform
from tests.unit.supervisor.world import World, write


def test_a_plan_shows_what_it_would_skip_and_grants_nothing(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        for path in ("out/1.md", "out/2.md", "out/3.md", "out/4.md", "other.md"):
            _, (waiting,) = await held(world, write(path))
            await world.approve(waiting)
        wish = Wish(agent="scribe", tool="Write", seconds=3600, uses=5, match={"file_path": "/workspace/out/*.md"}, path="out")
        plan = await given(world).plan(wish, who=ANNA)
        assert (
            plan["says"] == "Write of scribe, beneath out, where file_path looks like out/*.md, 5 times at most, within 60 min"
        )
        samples = plan["samples"]
        assert isinstance(samples, list)
        assert [str(one["about"]).split(",")[0] for one in samples if isinstance(one, dict)] == [
            "Write a new file out/4.md",
            "Write a new file out/3.md",
            "Write a new file out/2.md",
        ]
        assert (plan["id"], plan["samples_total"], plan["state"]) == (None, 4, "live")
        assert await given(world).listed(None, everything=True) == {"grants": []}

    perform(tmp_path, scene, strict=False)


def test_a_grant_is_listed_shown_and_revoked_by_its_id(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        found = await grant(world)
        ref = str(found["id"])
        room = given(world)
        assert (ref[:2], found["expires"], found["granted_by"]) == ("g_", NOW + 3600, "anna")
        assert (await room.grant(ref[:8]))["id"] == ref
        listed = await room.listed("scribe", everything=False)
        assert isinstance(listed["grants"], list)
        assert [one["id"] for one in listed["grants"] if isinstance(one, dict)] == [ref]
        assert (await room.listed("other", everything=True))["grants"] == []
        assert (await room.revoke(ref, who=ANNA))["state"] == "revoked"
        assert (await room.listed(None, everything=False))["grants"] == []
        with pytest.raises(AlreadyDecidedError, match="revoked already"):
            await room.revoke(ref, who=ANNA)
        with pytest.raises(NotFoundError):
            await room.grant("g_000000")

    perform(tmp_path, scene, strict=False)


_TOOLS = ("Read", "Glob", "Write", "Bash", "FetchPage", "mcp__github__post")
_REFUSED: tuple[tuple[dict[str, Any], type[RunnerError], str], ...] = (
    ({"tool": "Bash"}, NotAllowedError, "sends, executes or deletes"),
    ({"tool": "FetchPage"}, NotAllowedError, "sends, executes or deletes"),
    ({"tool": "mcp__github__post"}, NotAllowedError, "unknown"),
    ({"agent": "nobody"}, NotFoundError, "nobody"),
    ({"tool": "Read"}, UsageError, "unasked already"),
    ({"seconds": 24 * 3600 + 1}, UsageError, "at most 24h"),
    ({"uses": 101}, UsageError, "100 calls"),
    ({"path": "../x"}, UsageError, "beneath the workspace"),
    ({"path": "/etc"}, UsageError, "beneath the workspace"),
    ({"path": "/workspace"}, UsageError, "beneath the workspace"),
    ({"path": "a/../b"}, UsageError, "beneath the workspace"),
    ({"path": "a\nb"}, UsageError, "beneath the workspace"),
    ({"match": {"nothing": "*"}}, UsageError, "no such text"),
    ({"match": {"file_path": "../*"}}, UsageError, "beneath the workspace"),
    ({"match": {"content": "x" * 201}}, UsageError, "1 to 200"),
    ({"match": {str(number): "*" for number in range(9)}}, UsageError, "at most 8"),
)


async def refused(room: Grants, wish: dict[str, Any], *, error: type[RunnerError], says: str) -> None:
    """Neither planned nor given."""
    whole = Wish(**({"agent": "scribe", "tool": "Write", "seconds": 60, "uses": 1, "match": {}} | wish))
    for act in (room.plan, room.give):
        with pytest.raises(error, match=says):
            await act(whole, who=ANNA)
    assert (await room.listed(None, everything=True))["grants"] == []


def test_what_has_no_meaning_or_is_never_granted_is_refused(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        world.a_run()
        for wish, error, says in _REFUSED:
            await refused(given(world), wish, error=error, says=says)

    perform(tmp_path, scene, strict=False, tools=_TOOLS)


@pytest.mark.parametrize(
    ("wish", "profile", "error", "says"),
    [
        ({"tool": "Glob"}, {"tools": ("Write",)}, NotFoundError, "does not list it"),
        ({}, {"strict": True}, NotAllowedError, "the run is strict"),
        ({}, {"approvals": ApprovalSettings(required=2)}, NotAllowedError, "2 approvers"),
        ({}, {"policy": Policy.SKIP, "_ceiling": True}, NotAllowedError, "ceiling"),
        ({"tool": "Glob", "path": "out"}, {"policy": Policy.ASK}, UsageError, "reach further"),
    ],
)
def test_what_the_decision_would_not_follow_is_not_granted(
    wish: dict[str, Any], profile: dict[str, Any], error: type[RunnerError], says: str, tmp_path: Path
) -> None:
    changes = {"strict": False, "tools": _TOOLS} | {key: value for key, value in profile.items() if key != "_ceiling"}

    async def scene(world: World) -> None:
        world.a_run()
        room = replace(given(world), ceiling=Policy.READ_ONLY) if "_ceiling" in profile else given(world)
        await refused(room, wish, error=error, says=says)

    perform(tmp_path, scene, **changes)


@pytest.mark.parametrize(("word", "says"), [(SavedVerdict.BLOCK, "blocked"), (SavedVerdict.ASK, "`ask`")])
def test_a_saved_verdict_is_taken_back_before_a_grant_is_given(word: SavedVerdict, says: str, tmp_path: Path) -> None:
    """R73, R74: the owner's own word outranks it."""

    async def scene(world: World) -> None:
        save(world, "Write", word)
        with pytest.raises(NotAllowedError, match=says):
            await grant(world)

    perform(tmp_path, scene, strict=False)


def test_a_profile_that_is_published_anew_is_not_covered_by_its_old_grants(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        found = await grant(world)
        world.profile = replace(world.profile, description="another", digest="sha256:" + "9" * 64)
        published(world, world.profile)
        _, (waiting,) = await held(world)
        assert waiting.state.value == "pending"
        assert (await given(world).grant(str(found["id"])))["used"] == 0

    perform(tmp_path, scene, strict=False)


def test_an_agent_has_so_many_grants_at_a_time(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        for _ in range(MOST_LIVE):
            await grant(world)
        with pytest.raises(UsageError, match=f"has {MOST_LIVE} grants"):
            await grant(world)
        world.now = NOW + 3601
        assert (await grant(world))["state"] == "live"

    perform(tmp_path, scene, strict=False)
