"""Whose the database is, and until when."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, Text

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "leases",
        Column("name", Text, primary_key=True),
        Column("owner", Text, nullable=False),
        Column("boot", Text, nullable=False),
        Column("until", Double, nullable=False),
    )
