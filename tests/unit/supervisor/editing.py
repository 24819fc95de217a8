"""Edits in a world: planned and approved as the API does."""

from __future__ import annotations

import json

from runner.approvals import Approver
from runner.model import Json, JsonObject
from runner.store import ApprovalRow
from runner.supervisor.edits import Edits
from tests.helpers.stored import ANNA
from tests.unit.supervisor.world import World


def edits(world: World) -> Edits:
    """What plans and approves edits."""
    return Edits(store=world.store, effects=world.effects, clock=world.clock)


def text(**arguments: Json) -> str:
    """An input."""
    return json.dumps(arguments)


async def planned(world: World, row: ApprovalRow, raw: str, *, who: Approver = ANNA) -> JsonObject:
    """The approval as it would be."""
    return await edits(world).plan(row.id, raw, who=who)


async def approved(world: World, row: ApprovalRow, raw: str, *, digest: str | None = None, who: Approver = ANNA) -> JsonObject:
    """Planned, and approved under the digest that was shown, or another."""
    shown = digest or str((await planned(world, row, raw, who=who))["digest"])
    return await edits(world).approve(row.id, raw, digest=shown, reason=None, who=who)
