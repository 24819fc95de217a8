"""The tables of senders, beside `schema`: who may send, what arrived from them, and which requests were seen already."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Table, Text

from runner.store.schema import metadata

contacts = Table(
    "contacts",
    metadata,
    Column("petname", Text, primary_key=True),
    Column("skeleton", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False, unique=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("verified", Boolean, nullable=False),
    Column("blocked", Double),
    Column("created", Double, nullable=False),
)

#: One row per capture taken over the network: its sender's own key for it, and the digest of its bytes.
arrivals = Table(
    "arrivals",
    metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("capture", Text, ForeignKey("captures.id"), nullable=False),
    Column("created", Double, nullable=False),
    Index("arrivals_by_time", "fingerprint", "created"),
)

nonces = Table(
    "nonces",
    metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("nonce", Text, primary_key=True),
    Column("expires", Double, nullable=False),
    Index("nonces_by_time", "expires"),
)

TABLES = (contacts, arrivals, nonces)
