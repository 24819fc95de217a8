"""Contacts and what arrives from them; what becomes of a capture before an agent sees it."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Column, Double, ForeignKey, Text

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; captures of before have their run."""
    op.create_table(
        "contacts",
        Column("petname", Text, primary_key=True),
        Column("skeleton", Text, nullable=False, unique=True),
        Column("kind", Text, nullable=False),
        Column("key", Text, nullable=False, unique=True),
        Column("fingerprint", Text, nullable=False, unique=True),
        Column("verified", Boolean, nullable=False),
        Column("blocked", Double),
        Column("created", Double, nullable=False),
    )
    op.create_table(
        "arrivals",
        Column("fingerprint", Text, primary_key=True),
        Column("key", Text, primary_key=True),
        Column("digest", Text, nullable=False),
        Column("capture", Text, ForeignKey("captures.id"), nullable=False),
        Column("created", Double, nullable=False),
    )
    op.create_index("arrivals_by_time", "arrivals", ["fingerprint", "created"])
    op.create_table(
        "nonces",
        Column("fingerprint", Text, primary_key=True),
        Column("nonce", Text, primary_key=True),
        Column("expires", Double, nullable=False),
    )
    op.create_index("nonces_by_time", "nonces", ["expires"])
    op.add_column("captures", Column("state", Text, nullable=False, server_default="delivered"))
    op.create_index("captures_by_state", "captures", ["state", "created"])
    op.create_index("runs_by_capture", "runs", ["capture"])
