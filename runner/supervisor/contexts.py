"""Builds the policy's context from the owner's choices as they are now and from a run's facts.

Read anew for every decision, so that a saved verdict, a block or a ceiling binds a running run at its next call. A choice that
cannot be read is an error, and an error in the gate is a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.model import Policy, RunId, Sender
from runner.paths import DirectoryView
from runner.policy import PolicyContext
from runner.sandbox.view import holds_anything
from runner.store import Choices, Store, choices
from runner.supervisor.threads import NONE, Before, before


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """Where every decision's context comes from. `max_policy` is this host's ceiling."""

    store: Store
    max_policy: Policy

    def chosen(self, agent: str) -> Choices:
        """The owner's choices that bind an agent now. Blocking; for a thread.

        Raises:
            StoreError: They cannot be read.
        """
        with self.store.reading() as conn:
            return choices.of_agent(conn, agent)

    def fresh(
        self, view: DirectoryView, *, agent: str, sender: Sender, folder: Path, run: RunId | None = None
    ) -> PolicyContext:
        """The context of a decision taken now. Blocking; for a thread.

        Args:
            view: The files the call is judged on.
            agent: Whose choices count.
            sender: Who sent the run's capture.
            folder: The directory behind `view`.
            run: Whose call it is; None for one of a run that continues nothing.

        Raises:
            StoreError: The choices cannot be read, or hold a word that this version does not know.
        """
        return self.with_choices(self.chosen(agent), view, sender=sender, folder=folder, run=run)

    def with_choices(
        self, chosen: Choices, view: DirectoryView, *, sender: Sender, folder: Path, run: RunId | None = None
    ) -> PolicyContext:
        """The context in which these choices hold.

        Every run is tainted from its first turn on, since every prompt holds a fenced block, be it an empty one (C8); what
        exactly is in it is on record by name (`policy.taint`). What lies in the directory counts as private, and so does what
        was said before in the run's thread (C9); where that was tainted, the run is strict (design.md §6).

        Raises:
            StoreError: The choices hold a word that this version does not know.
        """
        before = NONE if run is None else self._before(run)
        base = PolicyContext(
            view=view,
            sender=sender.kind,
            tainted=True,
            thread_tainted=before.tainted,
            sensitive=before.talked or holds_anything(folder),
        )
        return chosen.into(base, host=self.max_policy)

    def _before(self, run: RunId) -> Before:
        with self.store.reading() as conn:
            return before(conn, run)
