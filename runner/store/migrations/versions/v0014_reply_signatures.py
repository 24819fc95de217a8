"""Signatures under replies that need more than one yes."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, Text

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "reply_signatures",
        Column("reply", Text, ForeignKey("replies.id"), primary_key=True),
        Column("key_id", Text, primary_key=True),
        Column("by", Text, nullable=False),
        Column("at", Double, nullable=False),
    )
