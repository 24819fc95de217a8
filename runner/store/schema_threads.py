"""The tables of threads: conversations that the owner continues, which capture continues which run, what was said in them."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Table, Text

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

#: What the model said beside its calls, as the gateway saw it: a container's word for it is not taken.
turn_words = Table(
    "turn_words",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("text", Text, nullable=False),
)
