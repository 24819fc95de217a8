"""The owner's choices in a world: saved as the API saves them."""

from __future__ import annotations

from functools import partial

from runner import approvals
from runner.approvals import Approver
from runner.model import Policy, Profile, Sender
from runner.policy import SavedVerdict
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView
from runner.store import ApprovalRow, RunRow, VerdictRow, choices, verdicts
from runner.supervisor.agents import Agents, publish
from runner.supervisor.desk import Desk
from runner.supervisor.floors import Floors
from tests.helpers.stored import ANNA, NOW
from tests.unit.supervisor.world import World


def agents(world: World, *, ceiling: Policy = Policy.SKIP) -> Agents:
    """The owner's side of the world's agents."""
    return Agents(store=world.store, clock=world.clock, floors=Floors(ceiling=ceiling))


def save(world: World, tool: str, word: SavedVerdict, *, who: Approver = ANNA) -> None:
    """Save a verdict, in a transaction of its own."""
    with world.store.begin() as conn:
        verdicts.put(conn, VerdictRow(agent=world.profile.name, tool=tool, verdict=word.value, set_by=who, set_at=NOW))


def forget(world: World, tool: str) -> None:
    """Take a verdict back."""
    with world.store.begin() as conn:
        verdicts.reset(conn, world.profile.name, tool=tool, who=ANNA, now=NOW)


def choose(world: World, policy: Policy, *, ceiling: Policy | None = None) -> None:
    """Choose the owner's default."""
    with world.store.begin() as conn:
        choices.set_policy(conn, policy=policy.value, ceiling=None if ceiling is None else ceiling.value, who=ANNA, now=NOW)


def published(world: World, profile: Profile) -> None:
    """Publish a profile, with what that does to saved verdicts."""
    with world.store.begin() as conn:
        publish(conn, profile, NOW, by=ANNA)


def saved(world: World) -> dict[str, str]:
    """What is saved for the world's agent."""
    with world.store.reading() as conn:
        return dict(choices.of_agent(conn, world.profile.name).saved)


def approved_by_hand(world: World, row: ApprovalRow) -> None:
    """A yes that went past every check of ours: the row itself."""
    with world.store.begin() as conn:
        approvals.approve(conn, row.id, digest=row.approval_digest, who=ANNA, now=NOW)


def begun_by_hand(world: World, row: ApprovalRow) -> ApprovalRow:
    """As a crash would leave it: approved, begun, no outcome."""
    approved_by_hand(world, row)
    with world.store.begin() as conn:
        begun = approvals.begin_effect(conn, row.id, now=NOW)
    assert begun is not None
    return begun


def desk_of(world: World, row: RunRow, sender: Sender) -> Desk:
    """The desk of a run of somebody's capture."""
    view = SnapshotView(Beneath.open(world.cwd))
    context = partial(world.contexts.fresh, view, agent=row.agent, sender=sender, folder=world.cwd)
    return Desk(world.ledger(row), world.profile, context, changes=world.changes, usage=row.usage)
