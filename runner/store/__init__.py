"""Rows: schema, migrations, named queries, the audit chain. SQL lives here and nowhere else.

Queries are functions of the modules `profiles`, `captures`, `runs`, `segments`, `calls`, `approvals`, `transcript`, `audit`
and `meta`; each takes the connection of a transaction that `Store` began.
"""

from runner.store.database import Connection, Engine, Store, keep
from runner.store.rows import (
    ApprovalRow,
    Approver,
    AuditRow,
    CallRow,
    CaptureRow,
    ProfileRow,
    RunRow,
    SegmentRow,
    TranscriptRow,
)

__all__ = [
    "ApprovalRow",
    "Approver",
    "AuditRow",
    "CallRow",
    "CaptureRow",
    "Connection",
    "Engine",
    "ProfileRow",
    "RunRow",
    "SegmentRow",
    "Store",
    "TranscriptRow",
    "keep",
]
