"""The table of grants (D3)."""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, Table, Text

from runner.store.schema import metadata

grants = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("profile_digest", Text, nullable=False),
    Column("prefix", Text),
    Column("matches", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Column("granted_by", Text, nullable=False),
    Column("ended", Double),
    Column("revoked_by", Text),
    Index("grants_by_agent", "agent", "created"),
)
