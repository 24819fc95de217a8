"""An approver's edit of a waiting call (D2): bound like what was proposed, kept beside it, and carried out in its place.

Three records stay apart: what the agent proposed, who decided what when, and what is carried out. Whether the edited input may
be carried out at all is for policy and broker to say, before anything here is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from runner.approvals.decide import undecided
from runner.approvals.opening import CAPS
from runner.approvals.refusals import too_late
from runner.approvals.words import storable
from runner.digest import MalformedJsonError, approval_digest, call_digest, parse_call
from runner.errors import UsageError
from runner.model import ApprovalId, Digest, ResolvedPath
from runner.store import ApprovalRow, Approver, Connection, pausing
from runner.store import approvals as rows
from runner.store.edit import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """An edited input with what policy and broker found out about it; the digests are computed from it."""

    raw: str
    paths: tuple[ResolvedPath, ...] = ()
    pre_images: Mapping[str, Digest | None] = field(default_factory=lambda: MappingProxyType({}))
    post_image: Digest | None = None
    preview: str = ""
    warnings: tuple[str, ...] = ()


def bind(row: ApprovalRow, edited: Edited, *, who: Approver, now: float) -> Edit:
    """The edit as it would be stored: the same tool, run, id and nonce, the new input and pre-images.

    Raises:
        UsageError: The input is no JSON object that can be bound, is too large to review, or changes nothing.
    """
    if len(edited.raw.encode("utf-8", "surrogatepass")) > CAPS.input_bytes:
        raise UsageError(f"cannot edit {row.id}: the input is larger than the {CAPS.input_bytes} bytes a person can review")
    call = parse_call(row.tool, edited.raw)
    if call.input is None:
        raise UsageError(f"cannot edit {row.id}: {call.fault}", resolution=f"runner show {row.id} --raw prints what it is now")
    where = [str(path.resolved) for path in edited.paths]
    try:
        exact = call_digest(tool=row.tool, definition=row.definition_digest, arguments=call.input, paths=where)
        whole = approval_digest(call=exact, run=row.run, approval=row.id, nonce=row.nonce, pre_images=edited.pre_images)
    except MalformedJsonError as error:
        raise UsageError(f"cannot edit {row.id}: {error}") from None
    if exact == row.effective.call_digest:
        raise UsageError(f"cannot edit {row.id}: the edit changes nothing", resolution=f"runner approve {row.id}")
    return Edit(
        raw=edited.raw,
        call_digest=exact,
        approval_digest=whole,
        by=who,
        at=now,
        paths=edited.paths,
        pre_images=edited.pre_images,
        post_image=edited.post_image,
        preview=storable(edited.preview),
        warnings=tuple(storable(text) for text in edited.warnings),
    )


def store_edit(conn: Connection, id: ApprovalId, edit: Edit, *, now: float) -> ApprovalRow:
    """Put an edit in place of a pending call's input; from then on only its digest fits the approval.

    Call it in the transaction of the yes that goes with it. Where more than one person has to say yes, the next one is shown
    the edited call, and whoever signed before has signed another digest.

    Raises:
        NotFoundError: No such approval.
        AlreadyDecidedError: It does not wait any more, or has just changed.
        ApprovalExpiredError: Past its deadline.
        PausedError: The supervisor is paused.
    """
    pausing.refuse(conn, f"edit {id}")
    row = undecided(conn, id, verb="edit", now=now)
    stored = rows.edit(conn, row, edit, now=now)
    if stored is None:
        raise too_late(rows.get(conn, id), "edit")
    return stored
