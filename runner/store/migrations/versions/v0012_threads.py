"""Threads, and which capture belongs to which. Captures of before stand alone, and stay so."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, Text

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "threads",
        Column("name", Text, primary_key=True),
        Column("agent", Text, nullable=False),
        Column("profile_digest", Text, ForeignKey("profiles.digest"), nullable=False),
        Column("created", Double, nullable=False),
    )
    op.create_table(
        "thread_captures",
        Column("capture", Text, ForeignKey("captures.id"), primary_key=True),
        Column("thread", Text, ForeignKey("threads.name"), nullable=False),
        Column("continues", Text, ForeignKey("runs.id")),
    )
    op.create_index("thread_captures_by_thread", "thread_captures", ["thread"])
