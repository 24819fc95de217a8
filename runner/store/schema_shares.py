"""The tables of what the owner hands to contacts: shares, their files, and the files' bytes by digest."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Index, Integer, LargeBinary, Table, Text

from runner.store.schema import metadata

shares = Table(
    "shares",
    metadata,
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
    Index("shares_by_state", "state", "expires"),
    Index("shares_by_contact", "sender_fingerprint", "created"),
)

share_files = Table(
    "share_files",
    metadata,
    Column("share", Text, ForeignKey("shares.id"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("fetches", Integer, nullable=False),
    Column("fetched", Double),
    Index("share_files_by_digest", "digest"),
)

#: A file's bytes once, however many shares hold it; they are gone when no share that lives does.
share_parts = Table(
    "share_parts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

TABLES = (shares, share_files, share_parts)
