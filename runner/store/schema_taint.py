"""The tables of taint, beside `schema`: what came into which run, and what such runs left in their agents' directories."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Table, Text

from runner.store.schema import metadata

taints = Table(
    "taints",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("sender_kind", Text),
    Column("sender_petname", Text),
    Column("sender_fingerprint", Text),
    Column("of_run", Text),
    Column("at", Double, nullable=False),
)

written = Table(
    "written",
    metadata,
    Column("approval", Text, ForeignKey("approvals.id"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("post_image", Text, nullable=False),
    Column("run", Text, ForeignKey("runs.id"), nullable=False),
    Column("sender_kind", Text, nullable=False),
    Column("sender_petname", Text),
    Column("sender_fingerprint", Text),
    Column("at", Double, nullable=False),
    Index("written_by_agent", "agent", "path"),
)
