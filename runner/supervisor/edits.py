"""What an approver makes of a call that waits (D2): judged, planned and shown anew before it is approved in its place.

An edit is an input like any other: strict JSON, the tool's schema, policy and paths as they are now, the files as they are now.
Planning one changes nothing; approving one writes the edit and the yes together.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from runner import approvals
from runner.approvals import Approver, Edited
from runner.broker import UNDO, Impossible, plan
from runner.digest import parse_call
from runner.errors import ApprovalExpiredError, NotAllowedError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import Decision, Digest, JsonObject, Verdict
from runner.store import ApprovalRow, Connection, Store
from runner.store.edit import Edit
from runner.supervisor import queries
from runner.supervisor.acts import runs_in_container
from runner.supervisor.effects import Effects
from runner.supervisor.progress import Clock

#: Refusals of an input for what it is; whatever else refuses says what may not be done with it.
_BAD_INPUT = frozenset({"malformed", "too_large_to_review"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Plans and approves edits."""

    store: Store
    effects: Effects
    clock: Clock

    async def plan(self, ref: str, text: str, *, who: Approver) -> JsonObject:
        """The approval's view as it would be with this input, its digest and preview included; nothing is changed.

        Raises:
            RunnerError: As `approve`, but for the digest.
        """
        row, edit = await self._planned(ref, text, who)
        return await self.store.query(queries.view_of, replace(row, edit=edit))

    async def approve(self, ref: str, text: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Carry this input out in place of the proposed one, if it still is exactly what was shown.

        Raises:
            NotFoundError: No such approval.
            UsageError: The input is malformed, changes nothing, cannot work, or the CLI is what carries such calls out.
            NotAllowedError: Policy refuses it.
            ApprovalError: It cannot be decided, or not with this digest.
        """
        row, edit = await self._planned(ref, text, who)
        await self.effects.approve(row.id, digest=Digest(digest), who=who, reason=reason, edit=edit)
        return await self.store.query(queries.whole_approval, row.id)

    async def _planned(self, ref: str, text: str, who: Approver) -> tuple[ApprovalRow, Edit]:
        row = await self.store.query(_editable, ref, self.clock())
        try:
            decision, cwd = await self.effects.judged(replace(row, edit=None, raw=text))
        except OSError as error:
            raise UsageError(f"cannot edit {row.id}: the agent's directory cannot be opened: {error.strerror}") from None
        if decision.verdict is Verdict.DENY:
            raise _refused(row, decision)
        arguments = parse_call(row.tool, text).input or {}
        found = await asyncio.to_thread(plan, row.tool, arguments, paths=decision.paths, cwd=cwd)
        if isinstance(found, Impossible):
            raise UsageError(f"cannot edit {row.id}: {found.reason}", resolution="an edit that cannot work is not approved")
        edited = Edited(
            raw=text,
            paths=decision.paths,
            pre_images={str(path): digest for path, digest in found.pre_images.items()},
            post_image=found.post_image,
            preview=found.preview,
            warnings=found.warnings,
        )
        return row, approvals.bind(row, edited, who=who, now=self.clock())


def _editable(conn: Connection, ref: str, now: float) -> ApprovalRow:
    """The pending approval of a call that the supervisor carries out.

    Raises:
        RunnerError: There is none, it is decided, or the CLI carries it out.
    """
    row = approvals.find(conn, ref)
    if row.state is not ApprovalState.PENDING:
        raise approvals.too_late(row, "edit")
    if now >= row.expires:
        raise ApprovalExpiredError(f"cannot edit {row.id}: its deadline passed", resolution="the agent has to ask again")
    if runs_in_container(row.tool) or row.tool == UNDO:
        raise UsageError(
            f"cannot edit {row.id}: {row.tool} is carried out by the CLI in the container, with the input it asked for",
            resolution=f"runner approve {row.id}, or runner deny {row.id} --reason TEXT to have it ask anew",
        )
    return row


def _refused(row: ApprovalRow, decision: Decision) -> UsageError | NotAllowedError:
    kind = UsageError if decision.rule in _BAD_INPUT else NotAllowedError
    reason = decision.reason.removesuffix(" Do not retry this call unchanged.")
    return kind(f"cannot edit {row.id}: {reason}", resolution=f"runner show {row.id} --raw prints the input as it is")
