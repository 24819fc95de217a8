"""The tables of threads: conversations that the owner continues, and which capture continues which run of one."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Table, Text

from runner.store.schema import metadata

threads = Table(
    "threads",
    metadata,
    Column("name", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("profile_digest", Text, ForeignKey("profiles.digest"), nullable=False),
    Column("created", Double, nullable=False),
)

#: `continues`: the run whose conversation the capture's own run starts from; none where it begins one.
thread_captures = Table(
    "thread_captures",
    metadata,
    Column("capture", Text, ForeignKey("captures.id"), primary_key=True),
    Column("thread", Text, ForeignKey("threads.name"), nullable=False),
    Column("continues", Text, ForeignKey("runs.id")),
    Index("thread_captures_by_thread", "thread"),
)
