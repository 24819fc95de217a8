"""Effects that were carried out, and taking them back: what the tests of undo start from."""

from __future__ import annotations

import stat
from pathlib import Path

from runner.lifecycle import ApprovalState
from runner.model import ApprovalId
from runner.store import ApprovalRow
from runner.supervisor.undo import Undos
from tests.helpers.stored import BEN
from tests.unit.supervisor.acting import held
from tests.unit.supervisor.world import World

#: Every tool whose effects can be taken back, and one that has none.
TOOLS = ("Read", "Write", "Edit", "NotebookEdit", "CreateFolder")
FOLDER = "mcp__runner__CreateFolder"


def undos(world: World) -> Undos:
    return Undos(store=world.store, effects=world.effects, clock=world.clock, ids=world.ids)


async def done(world: World, *uses: object) -> ApprovalRow:
    """A call that was approved and carried out."""
    _, (waiting,) = await held(world, *uses)
    row = await world.approve(waiting)
    assert row.state is ApprovalState.DONE
    return row


async def undone(world: World, approval: str) -> ApprovalRow:
    """It is taken back; the undo's row."""
    found = await undos(world).undo(approval, who=BEN)
    assert (found["state"], found["undoes"]) == ("done", approval), found
    return world.approval(ApprovalId(str(found["id"])))


def tree(root: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every name beneath a folder with its mode and bytes."""
    found = sorted(root.rglob("*"))
    return {
        str(at.relative_to(root)): (stat.S_IMODE(at.stat().st_mode), at.read_bytes() if at.is_file() else None) for at in found
    }
