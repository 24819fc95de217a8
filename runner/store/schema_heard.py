"""The tables of what was heard at a run's gateway: digests of what its model said, and of what its own reads told it."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, Table, Text

from runner.store.schema import metadata

#: Each text and thought of a turn.
turn_said = Table(
    "turn_said",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("digest", Text, nullable=False),
)

#: The result of a call that the container carries out, as an attempt's gateway let it through; another attempt may read anew.
call_results = Table(
    "call_results",
    metadata,
    Column("call", Text, ForeignKey("calls.id"), primary_key=True),
    Column("segment", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("parts", Text, nullable=False),
)

TABLES = (turn_said, call_results)
