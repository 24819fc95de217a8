"""The tables of what leaves towards contacts, and of what is handed on: replies, forwards."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Table, Text

from runner.store.schema import metadata

#: The last word of a run of somebody who is not the owner; one per run.
replies = Table(
    "replies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("run", Text, ForeignKey("runs.id"), nullable=False, unique=True),
    Column("capture", Text, ForeignKey("captures.id"), nullable=False),
    Column("agent", Text, nullable=False),
    Column("sender_kind", Text, nullable=False),
    Column("sender_petname", Text),
    Column("sender_fingerprint", Text),
    Column("text", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("call_digest", Text),
    Column("profile_digest", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("warnings", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("decided_by", Text),
    Column("decided_at", Double),
    Column("decision_reason", Text),
    Column("version", Integer, nullable=False),
    Index("replies_by_state", "state", "created"),
)

#: Captures that the owner handed on: of which capture, with what note, and by whose hands before.
forwards = Table(
    "forwards",
    metadata,
    Column("capture", Text, ForeignKey("captures.id"), primary_key=True),
    Column("of", Text, ForeignKey("captures.id"), nullable=False),
    Column("note", Text, nullable=False),
    Column("hops", Text, nullable=False),
)

#: Yeses to replies that need several; a reply's text never changes, so its id says under what they are.
reply_signatures = Table(
    "reply_signatures",
    metadata,
    Column("reply", Text, ForeignKey("replies.id"), primary_key=True),
    Column("key_id", Text, primary_key=True),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
)

TABLES = (replies, forwards, reply_signatures)
