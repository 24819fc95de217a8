"""What runs spend, what they may spend besides, and which of them wait for somebody to say so."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Double, ForeignKey, Text

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "spending",
        Column("id", Text, primary_key=True),
        Column("run", Text, ForeignKey("runs.id"), nullable=False),
        Column("agent", Text, nullable=False),
        Column("sender", Text, nullable=False),
        Column("day", Text, nullable=False),
        Column("model", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("input_tokens", BigInteger, nullable=False),
        Column("output_tokens", BigInteger, nullable=False),
        Column("micro_usd", BigInteger, nullable=False),
        Column("created", Double, nullable=False),
        Column("ended", Double),
    )
    op.create_index("spending_by_run", "spending", ["run"])
    op.create_index("spending_by_day", "spending", ["day", "agent", "sender"])
    op.create_table(
        "allowances",
        Column("id", Text, primary_key=True),
        Column("scope", Text, nullable=False),
        Column("tokens", BigInteger, nullable=False),
        Column("micro_usd", BigInteger, nullable=False),
        Column("by", Text, nullable=False),
        Column("created", Double, nullable=False),
    )
    op.create_index("allowances_by_scope", "allowances", ["scope"])
    op.create_table(
        "budget_holds",
        Column("run", Text, ForeignKey("runs.id"), primary_key=True),
        Column("scope", Text, nullable=False),
        Column("what", Text, nullable=False),
        Column("used", BigInteger, nullable=False),
        Column("most", BigInteger, nullable=False),
        Column("created", Double, nullable=False),
    )
