"""The pause switch: one row that says who stopped all new work, and when. It outlives every restart (L9, R29)."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection

from runner.errors import PausedError, StoreError
from runner.model import Json
from runner.store import audit, codec, meta
from runner.store.rows import Approver

#: The key in `meta`; empty: not paused.
_KEY = "paused"
#: What the audit says was paused.
_SUBJECT = "supervisor"


class Pause(NamedTuple):
    """Since when, by whom, and in whose words."""

    since: float
    by: Approver
    reason: str | None


def current(conn: Connection) -> Pause | None:
    """The pause in force; None when there is none.

    Raises:
        StoreError: What is stored is no pause; it is never taken for none.
    """
    text = meta.get(conn, _KEY)
    if not text:
        return None
    try:
        found = json.loads(text)
        return Pause(float(found["since"]), Approver(**found["by"]), found["reason"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("cannot read whether the supervisor is paused", details=str(error)) from error


def pause(conn: Connection, *, who: Approver, reason: str | None, now: float) -> Pause:
    """Stop all new work; a pause that is in force stays as it is."""
    found = current(conn)
    if found is not None:
        return found
    made = Pause(now, who, reason)
    meta.put(conn, _KEY, codec.dump({"since": made.since, "by": asdict(who), "reason": reason}))
    facts: dict[str, Json] = {"reason": reason}
    audit.append(conn, time=now, event="supervisor.pause", subject=_SUBJECT, data=facts | codec.by(who))
    return made


def resume(conn: Connection, *, who: Approver, now: float) -> Pause | None:
    """Let work go on; the pause that was in force, None where there was none."""
    found = current(conn)
    if found is not None:
        meta.put(conn, _KEY, "")
        facts: dict[str, Json] = {"since": found.since}
        audit.append(conn, time=now, event="supervisor.resume", subject=_SUBJECT, data=facts | codec.by(who))
    return found


def refuse(conn: Connection, doing: str) -> None:
    """Refuse something new while paused.

    Args:
        conn: The transaction in which it would happen.
        doing: What is refused, such as `send to scribe`.

    Raises:
        PausedError: A pause is in force.
    """
    found = current(conn)
    if found is not None:
        who = found.by.name or f"uid {found.by.uid}"
        when = f"{datetime.fromtimestamp(found.since, UTC):%Y-%m-%d %H:%M:%S} UTC"
        raise PausedError(
            f"cannot {doing}: the supervisor is paused by {who} since {when}",
            details=found.reason,
            resolution="runner resume lets work go on",
        )
