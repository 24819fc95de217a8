"""The tables, as SQLAlchemy Core. DBOS keeps its own tables in the same SQLite file; they are not ours to touch.

The migrations beside this module make these tables; a test compares the two.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

#: Where Alembic keeps the schema's revision.
VERSION_TABLE = "runner_schema_version"

metadata = MetaData()

profiles = Table(
    "profiles",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("author_uid", Integer),
)

agents = Table(
    "agents",
    metadata,
    Column("name", Text, primary_key=True),
    Column("uid", Integer, nullable=False, unique=True),
    Column("profile_digest", Text, ForeignKey("profiles.digest"), nullable=False),
    Column("retired", Double),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("agent", Text, primary_key=True),
    Column("tool", Text, primary_key=True),
    Column("verdict", Text, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("set_at", Double, nullable=False),
)

captures = Table(
    "captures",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("sender_kind", Text, nullable=False),
    Column("sender_petname", Text),
    Column("sender_fingerprint", Text),
    Column("text", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("state", Text, nullable=False, server_default="delivered"),
    Index("captures_by_state", "state", "created"),
)

runs = Table(
    "runs",
    metadata,
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
    Index("runs_by_state", "state", "created"),
    Index("runs_by_agent", "agent", "created"),
    Index("runs_by_capture", "capture"),
)

segments = Table(
    "segments",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("segment", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("created", Double, nullable=False),
    Column("container_id", Text, unique=True),
    Column("ended", Double),
    Column("reason", Text),
)

calls = Table(
    "calls",
    metadata,
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

approvals = Table(
    "approvals",
    metadata,
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
    Column("edit", Text),
    Column("required", Integer, nullable=False, server_default="1"),
    Index("approvals_by_state", "state", "expires"),
    Index("approvals_by_run", "run", "turn"),
    Index("approvals_in_order", "opened"),
)

signatures = Table(
    "signatures",
    metadata,
    Column("approval", Text, ForeignKey("approvals.id"), primary_key=True),
    Column("key_id", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
)

pre_images = Table(
    "pre_images",
    metadata,
    Column("approval", Text, ForeignKey("approvals.id"), primary_key=True),
    Column("form", Text, nullable=False),
    Column("data", LargeBinary),
    Column("mode", Integer, nullable=False),
    Column("uid", Integer, nullable=False),
    Column("gid", Integer, nullable=False),
    Column("standing", Integer, nullable=False),
)

transcript = Table(
    "transcript",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("segment", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("entry", Text, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    Column("event", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("audit_by_subject", "subject", "seq"),
)

spending = Table(
    "spending",
    metadata,
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
    Index("spending_by_run", "run"),
    Index("spending_by_day", "day", "agent", "sender"),
)

allowances = Table(
    "allowances",
    metadata,
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("micro_usd", BigInteger, nullable=False),
    Column("by", Text, nullable=False),
    Column("created", Double, nullable=False),
    Index("allowances_by_scope", "scope"),
)

budget_holds = Table(
    "budget_holds",
    metadata,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("scope", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("most", BigInteger, nullable=False),
    Column("created", Double, nullable=False),
)

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))


def ours(item: object, name: str | None, kind: str, reflected: bool, compare_to: object) -> bool:  # noqa: FBT001, PLR0917 -- Alembic's signature
    """Alembic's `include_object`: what the database has and this module does not describe is somebody else's (DBOS)."""
    del item, name, kind
    return not (reflected and compare_to is None)
