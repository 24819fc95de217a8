"""What tainted a run, and what tainted runs left in their agents' directories.

What runs from before carried is not looked at again: each counts as tainted by its capture.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Text

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and taint the runs that are there."""
    op.create_table(
        "taints",
        Column("run", Text, ForeignKey("runs.id"), primary_key=True),
        Column("n", Integer, primary_key=True),
        Column("kind", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("sender_kind", Text),
        Column("sender_petname", Text),
        Column("sender_fingerprint", Text),
        Column("of_run", Text),
        Column("at", Double, nullable=False),
    )
    op.create_table(
        "written",
        Column("approval", Text, ForeignKey("approvals.id"), primary_key=True),
        Column("path", Text, primary_key=True),
        Column("agent", Text, nullable=False),
        Column("post_image", Text, nullable=False),
        Column("run", Text, ForeignKey("runs.id"), nullable=False),
        Column("sender_kind", Text, nullable=False),
        Column("sender_petname", Text),
        Column("sender_fingerprint", Text),
        Column("at", Double, nullable=False),
        Index("written_by_agent", "agent", "path"),
    )
    op.execute(
        "INSERT INTO taints (run, n, kind, source, sender_kind, sender_petname, sender_fingerprint, of_run, at) "
        "SELECT id, 1, 'text', capture, sender_kind, sender_petname, sender_fingerprint, NULL, created FROM runs"
    )
