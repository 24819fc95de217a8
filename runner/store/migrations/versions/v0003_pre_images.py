"""What stood where an effect was carried out, whole, so that it can be taken back."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, Text

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "pre_images",
        Column("approval", Text, ForeignKey("approvals.id"), primary_key=True),
        Column("form", Text, nullable=False),
        Column("data", LargeBinary),
        Column("mode", Integer, nullable=False),
        Column("uid", Integer, nullable=False),
        Column("gid", Integer, nullable=False),
        Column("standing", Integer, nullable=False),
    )
