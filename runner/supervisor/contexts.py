"""Builds the policy's context from the owner's settings and a run's facts."""

from __future__ import annotations

from dataclasses import dataclass

from runner.model import Policy, Sender
from runner.paths import DirectoryView
from runner.policy import PolicyContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """The owner's standing choices, from which every decision's context is made."""

    max_policy: Policy
    owner_policy: Policy = Policy.ASK

    def fresh(self, view: DirectoryView, sender: Sender) -> PolicyContext:
        """The context of a decision taken now: every capture's run is tainted by what it carries (C8)."""
        return PolicyContext(
            view=view,
            sender=sender.kind,
            tainted=True,
            owner_policy=self.owner_policy,
            max_policy=self.max_policy,
        )
