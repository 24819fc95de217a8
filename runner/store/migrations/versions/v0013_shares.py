"""Files that the owner hands to contacts."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Double, ForeignKey, Integer, LargeBinary, Text

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "shares",
        Column("id", Text, primary_key=True),
        Column("sender_kind", Text, nullable=False),
        Column("sender_petname", Text),
        Column("sender_fingerprint", Text),
        Column("note", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("warnings", Text, nullable=False),
        Column("shared_by", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("created", Double, nullable=False),
        Column("expires", Double, nullable=False),
        Column("ended", Double),
        Column("version", Integer, nullable=False),
    )
    op.create_index("shares_by_state", "shares", ["state", "expires"])
    op.create_index("shares_by_contact", "shares", ["sender_fingerprint", "created"])
    op.create_table(
        "share_files",
        Column("share", Text, ForeignKey("shares.id"), primary_key=True),
        Column("n", Integer, primary_key=True),
        Column("name", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("size", BigInteger, nullable=False),
        Column("digest", Text, nullable=False),
        Column("fetches", Integer, nullable=False),
        Column("fetched", Double),
    )
    op.create_index("share_files_by_digest", "share_files", ["digest"])
    op.create_table(
        "share_parts",
        Column("digest", Text, primary_key=True),
        Column("n", Integer, primary_key=True),
        Column("data", LargeBinary, nullable=False),
    )
