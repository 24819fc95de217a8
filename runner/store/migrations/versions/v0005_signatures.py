"""How many approvers a call needs, and their signatures."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, Integer, Text

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, make the table; calls of before need one."""
    op.add_column("approvals", Column("required", Integer, nullable=False, server_default="1"))
    op.create_table(
        "signatures",
        Column("approval", Text, ForeignKey("approvals.id"), primary_key=True),
        Column("key_id", Text, primary_key=True),
        Column("digest", Text, primary_key=True),
        Column("by", Text, nullable=False),
        Column("at", Double, nullable=False),
    )
