"""The queue as a person is shown it, with a token for exactly what was on the list (D4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from runner.digest import digest_json
from runner.lifecycle import ApprovalState
from runner.model import RunId
from runner.store import ApprovalRow, Connection
from runner.store import approvals as rows


class Listing(NamedTuple):
    """What was shown. `snapshot` differs whenever a row of it came, went or changed."""

    snapshot: str
    rows: tuple[ApprovalRow, ...]


def listing(
    conn: Connection, *, run: RunId | None = None, states: Collection[ApprovalState] | None = None, limit: int | None = None
) -> Listing:
    """Approvals in the order they were asked for, at most `limit`; None means any."""
    found = rows.list(conn, run=run, states=states, limit=limit)
    shown = digest_json("runner.snapshot.v1", [[row.id, row.version] for row in found])
    return Listing(f"s_{shown.removeprefix('sha256:')[:32]}", found)
