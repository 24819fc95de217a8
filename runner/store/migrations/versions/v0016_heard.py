"""What the model said and was told in every run, as digests. Of turns of before nothing is known, and so no words are kept."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer, Text

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "turn_said",
        Column("run", Text, ForeignKey("runs.id"), primary_key=True),
        Column("turn", Integer, primary_key=True),
        Column("n", Integer, primary_key=True),
        Column("digest", Text, nullable=False),
    )
    op.create_table(
        "call_results",
        Column("call", Text, ForeignKey("calls.id"), primary_key=True),
        Column("segment", Integer, primary_key=True),
        Column("attempt", Integer, primary_key=True),
        Column("parts", Text, nullable=False),
    )
