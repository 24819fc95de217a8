"""Rows: schema, migrations, named queries, the audit chain. SQL lives here and nowhere else.

Queries are functions of the modules `profiles`, `verdicts`, `captures`, `runs`, `segments`, `calls`, `approvals`,
`images`, `transcript`, `audit` and `meta`; each takes the connection of a transaction that `Store` began. `offline` reads
without any.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from runner.store.chosen import Choices
from runner.store.rows import (
    ApprovalRow,
    Approver,
    AuditRow,
    CallRow,
    CaptureRow,
    ImageRow,
    ProfileRow,
    RunRow,
    SegmentRow,
    TranscriptRow,
    VerdictRow,
)

if TYPE_CHECKING:
    from runner.store.database import Connection, Engine, Look, Store, keep, look

__all__ = [
    "ApprovalRow",
    "Approver",
    "AuditRow",
    "CallRow",
    "CaptureRow",
    "Choices",
    "Connection",
    "Engine",
    "ImageRow",
    "Look",
    "ProfileRow",
    "RunRow",
    "SegmentRow",
    "Store",
    "TranscriptRow",
    "VerdictRow",
    "keep",
    "look",
]


def __getattr__(name: str) -> object:
    """What needs SQLAlchemy is imported when it is asked for: `offline` does without, and `explain` must be quick."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module("runner.store.database"), name)
