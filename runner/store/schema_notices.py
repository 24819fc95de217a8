"""The tables of notices, beside `schema`: what is to be told, to which channel, and what came of it."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Table, Text

from runner.store.schema import metadata

notices = Table(
    "notices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created", Double, nullable=False),
    Index("notices_by_kind", "kind", "created"),
)

notice_subjects = Table(
    "notice_subjects",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("mark", Double, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("notice", Text, ForeignKey("notices.id")),
    Index("notice_subjects_by_state", "state", "kind", "at"),
    Index("notice_subjects_by_notice", "notice"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("notice", Text, ForeignKey("notices.id"), primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("error", Text),
    Index("deliveries_by_state", "state", "channel", "due"),
)
