"""What a decision's context is made of: the run's facts and the owner's choices as they are at that moment (C8, C9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import StoreError
from runner.model import OWNER, Policy, Sender, SenderKind
from runner.policy import PolicyContext, SavedVerdict
from runner.profiles.examples import EmptyDirectory
from runner.sandbox.view import holds_anything
from runner.supervisor.contexts import Contexts
from tests.unit.supervisor.choosing import choose, save
from tests.unit.supervisor.world import World, play

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")
VIEW = EmptyDirectory()


def context(world: World, sender: Sender = OWNER, folder: Path | None = None, ceiling: Policy = Policy.SKIP) -> PolicyContext:
    return Contexts(store=world.store, max_policy=ceiling).fresh(
        VIEW, agent=world.profile.name, sender=sender, folder=folder or world.cwd
    )


@pytest.mark.parametrize("sender", [OWNER, MARIA])
def test_every_capture_taints_its_run_and_a_person_can_be_asked(sender: Sender, tmp_path: Path) -> None:
    """P4, C5, C8, C17: whoever sent it; nothing saved and nothing chosen means ask."""

    async def scene(world: World) -> None:
        assert context(world, sender) == PolicyContext(
            view=VIEW,
            sender=sender.kind,
            tainted=True,
            thread_tainted=False,
            saved={},
            owner_policy=Policy.ASK,
            max_policy=Policy.SKIP,
            sensitive=True,
            reachable_person=True,
        )

    play(tmp_path, scene)


def test_what_lies_in_the_directory_is_private_and_an_empty_one_holds_nothing(tmp_path: Path) -> None:
    """C9; one that cannot be looked at counts as full."""

    async def scene(world: World) -> None:
        empty = world.folder / "empty"
        empty.mkdir()
        assert context(world, MARIA, empty).sensitive is False
        (empty / ".hidden").touch()
        assert context(world, MARIA, empty).sensitive is True
        assert holds_anything(world.cwd / "in.txt") is True
        assert holds_anything(world.folder / "gone") is False

    play(tmp_path, scene)


def test_choices_are_read_anew_each_time_and_the_stricter_ceiling_counts(tmp_path: Path) -> None:
    """R72-R75, R91: no restart, no new run."""

    async def scene(world: World) -> None:
        save(world, "Write", SavedVerdict.BLOCK)
        choose(world, Policy.SKIP, ceiling=Policy.READ_ONLY)
        found = context(world)
        assert (found.saved, found.owner_policy, found.max_policy) == (
            {"Write": SavedVerdict.BLOCK},
            Policy.SKIP,
            Policy.READ_ONLY,
        )
        assert context(world, ceiling=Policy.ASK).max_policy is Policy.ASK

    play(tmp_path, scene)


def test_a_choice_that_this_version_does_not_know_decides_nothing(tmp_path: Path) -> None:
    """P10: an error in the gate is a refusal; never the default."""

    async def scene(world: World) -> None:
        save(world, "Write", SavedVerdict.BLOCK)
        with world.store.begin() as conn:
            conn.exec_driver_sql("UPDATE verdicts SET verdict = 'maybe'")
        with pytest.raises(StoreError, match="does not know"):
            context(world)

    play(tmp_path, scene)
