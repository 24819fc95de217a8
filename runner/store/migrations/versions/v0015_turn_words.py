"""What a thread's model said beside its calls. Of turns of before nothing is known, and so nothing is told."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer, Text

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "turn_words",
        Column("run", Text, ForeignKey("runs.id"), primary_key=True),
        Column("turn", Integer, primary_key=True),
        Column("text", Text, nullable=False),
    )
