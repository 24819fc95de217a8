"""What an approver makes of a waiting call, and grants: a yes given beforehand, narrow and bounded."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, Integer, Text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, make the table."""
    op.add_column("approvals", Column("edit", Text))
    op.create_table(
        "grants",
        Column("id", Text, primary_key=True),
        Column("agent", Text, nullable=False),
        Column("tool", Text, nullable=False),
        Column("profile_digest", Text, nullable=False),
        Column("prefix", Text),
        Column("matches", Text, nullable=False),
        Column("created", Double, nullable=False),
        Column("expires", Double, nullable=False),
        Column("uses", Integer, nullable=False),
        Column("used", Integer, nullable=False),
        Column("granted_by", Text, nullable=False),
        Column("ended", Double),
        Column("revoked_by", Text),
    )
    op.create_index("grants_by_agent", "grants", ["agent", "created"])
