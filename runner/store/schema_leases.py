"""The table of leases, beside `schema`: whose the database is, and until when."""

from __future__ import annotations

from sqlalchemy import Column, Double, Table, Text

from runner.store.schema import metadata

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("boot", Text, nullable=False),
    Column("until", Double, nullable=False),
)
