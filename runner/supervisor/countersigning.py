"""Replies that need more than one yes: distinct approvers' keys under the text that was reviewed; one no ends it (D5)."""

from __future__ import annotations

from collections.abc import Sequence

from runner.approvals import Approver
from runner.errors import AlreadyDecidedError, NotAllowedError
from runner.model import Json, JsonObject
from runner.store import Connection, profiles, replies, reply_signatures
from runner.store.replies import ReplyRow
from runner.store.reply_signatures import ReplySignature
from runner.supervisor.parsing import parsed


def required_of(conn: Connection, row: ReplyRow) -> int:
    """How many approvers a reply needs, as the profile of its run says of calls."""
    return parsed(profiles.get(conn, row.profile_digest)).approvals.required


def countersigned(conn: Connection, row: ReplyRow, *, who: Approver, now: float) -> ReplyRow:
    """The held reply with this approver's yes counted; it may go out once `complete` says so.

    Raises:
        NotAllowedError: Several have to sign, and they did not sign with a key.
        AlreadyDecidedError: Their key has signed it before, or it has just been decided.
    """
    required = required_of(conn, row)
    if required <= 1:
        return row
    if who.key_id is None:
        raise NotAllowedError(
            f"cannot release {row.id}: it needs {required} approvers, each with a key of their own",
            resolution="runner approver keygen makes a key; the operator adds it under [approvers] keys",
        )
    given = reply_signatures.of(conn, row.id)
    if any(one.key_id == who.key_id for one in given):
        raise AlreadyDecidedError(
            f"cannot release {row.id}: {who.name or who.key_id} has signed it, and {len(given)} of {required} are there",
            resolution="another approver has to",
        )
    if not reply_signatures.add(conn, row, ReplySignature(reply=row.id, key_id=who.key_id, by=who, at=now), required=required):
        raise AlreadyDecidedError(f"cannot release {row.id}: it has just changed", resolution=f"runner reply show {row.id}")
    return replies.get(conn, row.id)


def complete(conn: Connection, row: ReplyRow) -> bool:
    """Whether as many have said yes as the reply needs; the one who asks now is counted already where several have to."""
    required = required_of(conn, row)
    return required <= 1 or len(reply_signatures.of(conn, row.id)) >= required


def signatures_view(conn: Connection, row: ReplyRow) -> JsonObject:
    """Who has signed it, where more than one has to."""
    required = required_of(conn, row)
    if required <= 1:
        return {}
    given: Sequence[ReplySignature] = reply_signatures.of(conn, row.id)
    signed: list[Json] = [{"name": one.by.name, "key_id": one.key_id, "at": one.at} for one in given]
    return {"signatures": {"required": required, "given": signed}}
