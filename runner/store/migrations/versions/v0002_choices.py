"""The owner's choices: a verdict saved for one tool of one agent; who published a profile; agents that were retired."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, Integer, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and the columns."""
    op.create_table(
        "verdicts",
        Column("agent", Text, primary_key=True),
        Column("tool", Text, primary_key=True),
        Column("verdict", Text, nullable=False),
        Column("set_by", Text, nullable=False),
        Column("set_at", Double, nullable=False),
    )
    op.add_column("profiles", Column("author_uid", Integer))
    op.add_column("agents", Column("retired", Double))
