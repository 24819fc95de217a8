"""Which calls stood on a list that a person was shown, by the list's token (D4). Bounded, and forgotten with the process."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from runner.approvals import Listing
from runner.errors import NotFoundError
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest

#: Calls that can be decided together.
MAX_BATCH = 100
#: Lists that are remembered, and for how many seconds: what was looked at longer ago is looked at again.
LISTS, LIFETIME = 64, 3600.0


class Call(NamedTuple):
    """One call, exactly as it was shown; to refuse it, no digest is needed."""

    id: ApprovalId
    digest: Digest


class _List(NamedTuple):
    until: float
    calls: tuple[Call, ...]


class Shown:
    """The lists shown last."""

    def __init__(self) -> None:
        self._lists: OrderedDict[str, _List] = OrderedDict()

    def remember(self, found: Listing, *, now: float) -> None:
        """Keep what waits on a list; one call more than can be decided together tells that there were too many."""
        waiting = [row for row in found.rows if row.state is ApprovalState.PENDING][: MAX_BATCH + 1]
        self._lists.pop(found.snapshot, None)
        self._lists[found.snapshot] = _List(
            now + LIFETIME, tuple(Call(row.id, row.effective.approval_digest) for row in waiting)
        )
        while len(self._lists) > LISTS:
            self._lists.popitem(last=False)

    def calls(self, token: str, *, now: float) -> tuple[Call, ...]:
        """What waited on the list of this token.

        Raises:
            NotFoundError: No list of this token was shown lately.
        """
        found = self._lists.get(token)
        if found is None or now >= found.until:
            raise NotFoundError(
                "cannot find this snapshot: no such list was shown lately", resolution="list again: runner approvals"
            )
        return found.calls
