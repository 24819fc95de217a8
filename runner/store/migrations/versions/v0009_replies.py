"""Replies that wait, and forwards. Replies of before were shown to nobody but the owner, and stay so."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, Integer, Text

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "replies",
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
    )
    op.create_index("replies_by_state", "replies", ["state", "created"])
    op.create_table(
        "forwards",
        Column("capture", Text, ForeignKey("captures.id"), primary_key=True),
        Column("of", Text, ForeignKey("captures.id"), nullable=False),
        Column("note", Text, nullable=False),
        Column("hops", Text, nullable=False),
    )
