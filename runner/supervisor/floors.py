"""What makes a run stricter than its profile, and which agents see nothing of others before a person did (R33-R35, C7).

A run's floor is settled when it is queued and on record with it; whoever decides about a call of the run reads it there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from runner.model import Capture, Policy, Profile, Sender, SenderKind
from runner.policy import PolicyContext, acts_unasked
from runner.profiles.examples import EmptyDirectory
from runner.store import ApprovalRow, Connection, RunRow, choices, profiles, runs
from runner.supervisor.parsing import parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """This host's: whether every run is strict here, and the ceiling on policies."""

    strict: bool = False
    ceiling: Policy = Policy.SKIP

    def strict_for(self, profile: Profile, capture: Capture, sender: Sender) -> bool:
        """Whether a run that begins now is strict: one word for it is enough, and none speaks against it (R33, R55)."""
        return profile.strict or self.strict or capture.strict or sender.kind is not SenderKind.OWNER

    def stubs(self, conn: Connection, profile: Profile, sender: Sender) -> bool:
        """Whether what this sender sends waits to be accepted because its agent does more than read unasked (R34, R35)."""
        if sender.kind is SenderKind.OWNER or self.strict:
            return False
        context = choices.of_agent(conn, profile.name).into(PolicyContext(view=EmptyDirectory()), host=self.ceiling)
        return bool(acts_unasked(profile, context))


def floored(profile: Profile, run: RunRow) -> Profile:
    """The profile by which a run's calls are decided: strict where the run is."""
    return replace(profile, strict=profile.strict or run.strict)


def profile_of(conn: Connection, row: ApprovalRow) -> Profile:
    """The profile by which an approval's call is decided.

    Raises:
        NotFoundError: There is no such profile or run.
    """
    return floored(parsed(profiles.get(conn, row.profile_digest)), runs.get(conn, row.run))
