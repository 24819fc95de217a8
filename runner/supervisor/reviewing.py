"""Replies as the contract's JSON: what would be sent, to whom, and what it would give away."""

from __future__ import annotations

from collections.abc import Sequence

from runner.captures.revealing import Link, has_more_links, links
from runner.model import Json, JsonObject
from runner.store import AuditRow
from runner.store.replies import ReplyRow
from runner.supervisor.views import event_line, sender_name


def reply_line(row: ReplyRow) -> JsonObject:
    """A reply in a list."""
    by = row.decided_by
    return {
        "id": row.id,
        "run": row.run,
        "agent": row.agent,
        "sender": sender_name(row.sender),
        "state": row.state.value,
        "tool": "Reply",
        "class": "external_send",
        "target": row.sender.petname,
        "does": f"Send {len(row.text)} characters to {sender_name(row.sender)}",
        "why": row.rule,
        "reason": row.reason,
        "digest": row.digest,
        "call_digest": row.call_digest,
        "warnings": [*row.warnings],
        "created": row.created,
        "expires": row.expires,
        "decided_by": None if by is None else by.facts(),
        "decided_at": row.decided_at,
        "decision_reason": row.decision_reason,
    }


def reply_view(row: ReplyRow, history: Sequence[AuditRow]) -> JsonObject:
    """`reply show --json`."""
    found: list[Json] = [_link(link) for link in links(row.text)]
    past: list[Json] = [event_line(one) for one in history]
    reveals: JsonObject = {"links": found, "more": has_more_links(row.text)}
    return reply_line(row) | {"text": row.text, "reveals": reveals, "history": past, "version": row.version}


def _link(link: Link) -> JsonObject:
    return {"form": link.form, "host": link.host, "target": link.target, "fetched_when_shown": link.loads}
