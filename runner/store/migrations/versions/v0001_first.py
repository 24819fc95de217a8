"""The first schema: profiles, captures, runs, calls, approvals, transcript, audit."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, Integer, Text, UniqueConstraint

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table and index."""
    _agents()
    _runs()
    _calls()
    _approvals()
    _records()
    _indexes()


def _agents() -> None:
    op.create_table(
        "profiles",
        Column("digest", Text, primary_key=True),
        Column("name", Text, nullable=False),
        Column("text", Text, nullable=False),
        Column("created", Double, nullable=False),
    )
    op.create_table(
        "agents",
        Column("name", Text, primary_key=True),
        Column("uid", Integer, nullable=False, unique=True),
        Column("profile_digest", Text, ForeignKey("profiles.digest"), nullable=False),
    )
    op.create_table(
        "captures",
        Column("id", Text, primary_key=True),
        Column("agent", Text, nullable=False),
        Column("sender_kind", Text, nullable=False),
        Column("sender_petname", Text),
        Column("sender_fingerprint", Text),
        Column("text", Text, nullable=False),
        Column("created", Double, nullable=False),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        Column("id", Text, primary_key=True),
        Column("capture", Text, ForeignKey("captures.id"), nullable=False),
        Column("agent", Text, nullable=False),
        Column("profile_digest", Text, ForeignKey("profiles.digest"), nullable=False),
        Column("sender_kind", Text, nullable=False),
        Column("sender_petname", Text),
        Column("sender_fingerprint", Text),
        Column("strict", Boolean, nullable=False),
        Column("state", Text, nullable=False),
        Column("segment", Integer, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("session_id", Text),
        Column("nonce", Text),
        Column("reason", Text),
        Column("reply", Text),
        Column("requests", BigInteger, nullable=False),
        Column("turns", BigInteger, nullable=False),
        Column("input_tokens", BigInteger, nullable=False),
        Column("output_tokens", BigInteger, nullable=False),
        Column("created", Double, nullable=False),
        Column("updated", Double, nullable=False),
        Column("version", Integer, nullable=False),
    )
    op.create_table(
        "segments",
        Column("run", Text, ForeignKey("runs.id"), primary_key=True),
        Column("segment", Integer, primary_key=True),
        Column("attempt", Integer, primary_key=True),
        Column("created", Double, nullable=False),
        Column("container_id", Text, unique=True),
        Column("ended", Double),
        Column("reason", Text),
    )


def _calls() -> None:
    op.create_table(
        "calls",
        Column("id", Text, primary_key=True),
        Column("run", Text, ForeignKey("runs.id"), nullable=False),
        Column("segment", Integer, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("turn", Integer, nullable=False),
        Column("n", Integer, nullable=False),
        Column("tool", Text, nullable=False),
        Column("raw", Text, nullable=False),
        Column("call_digest", Text),
        Column("verdict", Text, nullable=False),
        Column("rank", Integer, nullable=False),
        Column("rule", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("wire_id", Text, nullable=False),
        Column("paths", Text, nullable=False),
        Column("created", Double, nullable=False),
        Column("outcome", Text),
        Column("outcome_error", Boolean, nullable=False),
        Column("outcome_at", Double),
        Column("answered", Boolean, nullable=False),
        UniqueConstraint("run", "n", name="calls_are_counted"),
    )


def _approvals() -> None:
    op.create_table(
        "approvals",
        Column("id", Text, primary_key=True),
        Column("call", Text, ForeignKey("calls.id"), nullable=False, unique=True),
        Column("run", Text, ForeignKey("runs.id"), nullable=False),
        Column("segment", Integer, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("turn", Integer, nullable=False),
        Column("agent", Text, nullable=False),
        Column("tool", Text, nullable=False),
        Column("profile_digest", Text, nullable=False),
        Column("definition_digest", Text, nullable=False),
        Column("why", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("call_digest", Text, nullable=False),
        Column("approval_digest", Text, nullable=False),
        Column("nonce", Text, nullable=False),
        Column("raw", Text, nullable=False),
        Column("sender_kind", Text, nullable=False),
        Column("sender_petname", Text),
        Column("sender_fingerprint", Text),
        Column("created", Double, nullable=False),
        Column("expires", Double, nullable=False),
        Column("paths", Text, nullable=False),
        Column("pre_images", Text, nullable=False),
        Column("post_image", Text),
        Column("preview", Text, nullable=False),
        Column("warnings", Text, nullable=False),
        Column("recorded", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("decided_by", Text),
        Column("decided_at", Double),
        Column("decision_reason", Text),
        Column("effect", Text),
        Column("outcome", Text),
        Column("outcome_error", Boolean, nullable=False),
        Column("delivered_at", Double),
        Column("opened", BigInteger, nullable=False),
        Column("version", Integer, nullable=False),
    )


def _records() -> None:
    op.create_table(
        "transcript",
        Column("run", Text, ForeignKey("runs.id"), primary_key=True),
        Column("n", Integer, primary_key=True),
        Column("segment", Integer, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("entry", Text, nullable=False),
    )
    op.create_table(
        "audit",
        Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
        Column("time", Double, nullable=False),
        Column("event", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("data", Text, nullable=False),
        Column("previous", Text, nullable=False),
        Column("hash", Text, nullable=False),
    )
    op.create_table(
        "meta",
        Column("key", Text, primary_key=True),
        Column("value", Text, nullable=False),
    )


def _indexes() -> None:
    op.create_index("runs_by_state", "runs", ["state", "created"])
    op.create_index("runs_by_agent", "runs", ["agent", "created"])
    op.create_index("approvals_by_state", "approvals", ["state", "expires"])
    op.create_index("approvals_by_run", "approvals", ["run", "turn"])
    op.create_index("approvals_in_order", "approvals", ["opened"])
    op.create_index("audit_by_subject", "audit", ["subject", "seq"])
