"""Grants at work: the use that a call takes when it is put on record, and who thereby said yes to it (D3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runner.model import Decision, RunId, SenderKind, Verdict
from runner.store import Approver, Connection, grants, taints
from runner.supervisor.doubts import STANDING_YES
from runner.supervisor.proposals import Proposal


def used(conn: Connection, proposals: Sequence[Proposal], *, run: RunId, now: float) -> list[Proposal]:
    """The proposals, each with a use taken of the grant that lets it run; where none is left, decided as if there were none.

    In the transaction that records the turn: what was revoked, or used up by another run, since the calls were decided counts.
    A run that has a contact's words in it, be it from a file that another run left, uses no grant.
    """
    alone = all(one.sender is None or one.sender.kind is SenderKind.OWNER for one in taints.of_run(conn, run))
    return [_used(conn, proposal, run=run if alone else None, now=now) for proposal in proposals]


def standing(conn: Connection, decision: Decision) -> Approver | None:
    """Who said yes to a call beforehand; None where a person has to be asked."""
    if decision.verdict is not Verdict.ALLOW:
        return None
    return STANDING_YES if decision.grant is None else grants.yes(grants.get(conn, decision.grant))


def _used(conn: Connection, proposal: Proposal, *, run: RunId | None, now: float) -> Proposal:
    """`run`: the one that may use a grant."""
    if proposal.grant is None:
        return proposal
    if run is not None and grants.take(conn, proposal.grant, run=run, now=now) is not None:
        return proposal
    without = proposal.without
    if without is None:  # silence is refusal
        without = replace(proposal.decision, verdict=Verdict.DENY, grant=None)
    return replace(proposal, decision=without, without=None)
