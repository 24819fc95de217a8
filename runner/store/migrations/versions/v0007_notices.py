"""Notices: what is to be told, to which channel, and what came of it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, Index, Integer, PrimaryKeyConstraint, Text

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "notices",
        Column("id", Text, primary_key=True),
        Column("kind", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("created", Double, nullable=False),
        Index("notices_by_kind", "kind", "created"),
    )
    op.create_table(
        "notice_subjects",
        Column("kind", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("mark", Double, nullable=False),
        Column("agent", Text, nullable=False),
        Column("at", Double, nullable=False),
        Column("state", Text, nullable=False),
        Column("notice", Text, ForeignKey("notices.id")),
        PrimaryKeyConstraint("kind", "subject", "mark"),
        Index("notice_subjects_by_state", "state", "kind", "at"),
        Index("notice_subjects_by_notice", "notice"),
    )
    op.create_table(
        "deliveries",
        Column("notice", Text, ForeignKey("notices.id"), nullable=False),
        Column("channel", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("due", Double, nullable=False),
        Column("updated", Double, nullable=False),
        Column("error", Text),
        PrimaryKeyConstraint("notice", "channel"),
        Index("deliveries_by_state", "state", "channel", "due"),
    )
