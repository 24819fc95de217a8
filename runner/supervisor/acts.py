"""What carrying an approval out means: the broker acts on its stored bytes, or the container is let go on with a read.

Blocking; effects run these in a thread, with the intent on record.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from runner.broker import FOLDER, UNDO, Change, Effect, Impossible, Order, PreImage, capture, clean, examine, perform
from runner.digest import parse_call
from runner.errors import RunnerError, StoreError
from runner.lifecycle import ApprovalEvent
from runner.model import WORKSPACE, ApprovalId
from runner.policy.catalogue import TOOLS, Place
from runner.sandbox.view import apply_bytes, apply_directory, apply_removal
from runner.store import ApprovalRow
from runner.supervisor.live import LiveSegment

_log = logging.getLogger(__name__)

#: Outcome of an approved call that the CLI itself carries out, on the snapshot, once its hook hears of it (R68, C1).
RELEASED = "Approved; it runs in the container."


class Found(NamedTuple):
    """What the disk says of an interrupted effect."""

    event: ApprovalEvent
    outcome: str


def runs_in_container(tool: str) -> bool:
    """Whether the CLI itself carries a tool's calls out."""
    known = TOOLS.get(tool)
    return known is not None and known.place is Place.CONTAINER


def pre_image(row: ApprovalRow, cwd: Path) -> PreImage | Impossible | None:
    """What an approval is about to write over; None for what writes nothing, Impossible for what it was not approved for."""
    return None if runs_in_container(row.tool) else capture(order_of(row, cwd))


def act(row: ApprovalRow, cwd: Path, *, restores: PreImage | None = None) -> Effect:
    """Carry an approval out, once; what runs in the container changes nothing here.

    Args:
        row: The executing approval.
        cwd: Its agent's directory.
        restores: Of an undo, what it brings back.
    """
    if runs_in_container(row.tool):
        return Effect(state="done", outcome=RELEASED)
    return perform(order_of(row, cwd, restores=restores))


def find(row: ApprovalRow, cwd: Path, *, release: bool) -> Found:
    """What became of an act that was interrupted (B9).

    Args:
        row: The executing approval.
        cwd: Its agent's directory.
        release: One that did not happen is approved again; else it has failed.
    """
    if runs_in_container(row.tool):
        return Found(ApprovalEvent.SUCCEED, RELEASED)
    order = order_of(row, cwd)
    clean(order)
    match examine(order):
        case "post":
            return Found(ApprovalEvent.SUCCEED, "Done. The supervisor was interrupted; the file is as approved.")
        case "pre":
            event = ApprovalEvent.NOT_HAPPENED if release else ApprovalEvent.FAIL
            return Found(event, "the supervisor was interrupted before anything was changed")
        case "other":
            return Found(
                ApprovalEvent.DOUBT, "the supervisor was interrupted and the file is neither as before nor as approved"
            )


def undoes(row: ApprovalRow) -> ApprovalId:
    """What an undo takes back, by its bound input.

    Raises:
        StoreError: The input is no undo's.
    """
    given = parse_call(row.tool, row.raw).input or {}
    wanted = given.get("undoes")
    if row.tool != UNDO or not isinstance(wanted, str):
        raise StoreError(f"cannot read {row.id}: it is no undo")
    return ApprovalId(wanted)


def order_of(row: ApprovalRow, cwd: Path, *, restores: PreImage | None = None) -> Order:
    """The broker's order for an approval: its stored bytes, as proposed or as an approver edited them, nothing else (D2)."""
    made = row.effective
    return Order(
        tool=made.tool,
        raw=made.raw,
        paths=made.paths,
        cwd=cwd,
        pre_images=made.pre_images,
        post_image=made.post_image,
        key=made.id,
        restores=restores,
    )


def show(segment: LiveSegment | None, changed: tuple[Change, ...]) -> None:
    """Let a live container see what an effect changed."""
    if segment is None:
        return
    for change in changed:
        try:
            _show(segment.snapshot, change)
        except RunnerError as error:
            # The effect stands and is on record; only this container's view of it is old.
            _log.warning("cannot show an effect in the snapshot of %s: %s", segment.attempt, error.brief)


def _show(snapshot: Path, change: Change) -> None:
    parts = change.path.relative_to(WORKSPACE).parts
    if change.data is None:
        apply_removal(snapshot, parts)
    elif change.data is FOLDER:
        apply_directory(snapshot, parts)
    else:
        apply_bytes(snapshot, parts, change.data)
