"""The tables of what leaves towards contacts, and of what goes on: replies, shares, forwards, threads."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, LargeBinary, Table, Text

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

#: Files of an agent's directory that the owner handed to a contact, as they were then.
shares = Table(
    "shares",
    metadata,
    Column("id", Text, primary_key=True),
    Column("petname", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("created", Double, nullable=False),
    Index("shares_by_contact", "fingerprint", "created"),
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

#: The runs of a conversation that the owner continues by name.
threads = Table(
    "threads",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Index("threads_by_name", "agent", "name", "n", unique=True),
)

TABLES = (replies, shares, forwards, threads)
