"""What untrusted content a turn's calls bring into their run, before any of them is answered (P4, C8, R57).

By tool: whatever may return what others wrote. By name: a file that a tainted run left in the directory, while its bytes are
those that were written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.digest import digest_bytes
from runner.model import WORKSPACE, RunId, Verdict
from runner.policy import PolicyContext
from runner.policy.taint import Taint, TaintKind, of_result
from runner.sandbox.beneath import Beneath
from runner.store import Store, written
from runner.store.written import WrittenRow
from runner.supervisor.proposals import Proposal

#: Tools that bring file contents into the conversation.
_READS_FILES = frozenset({"Read", "Grep"})
#: Files of tainted runs that are compared for one call; a search over more counts as reading them all.
MAX_COMPARED = 200
#: Largest file that is compared: more than any effect writes.
_MAX_BYTES = 32 * 1024 * 1024


def of_results(proposals: Sequence[Proposal], context: PolicyContext) -> tuple[Taint, ...]:
    """What the turn's results bring in; of a call that may still be denied too, since nothing looks back later."""
    found = (of_result(one.call, context) for one in proposals if one.decision.verdict is not Verdict.DENY)
    return tuple(dict.fromkeys(taint for taint in found if taint is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tainting:
    """Looks for one run. `files`: the run's snapshot, beneath an open handle."""

    store: Store
    run: RunId
    agent: str
    files: Beneath

    def of_turn(self, proposals: Sequence[Proposal], context: PolicyContext) -> tuple[Taint, ...]:
        """Everything a turn brings in. Blocking; for a thread."""
        reads = [one for one in proposals if one.decision.verdict is not Verdict.DENY and one.call.tool in _READS_FILES]
        files = [taint for one in reads for place in _places(one) for taint in self._at(place)]
        return (*of_results(proposals, context), *dict.fromkeys(files))

    def _at(self, place: PurePosixPath) -> Iterator[Taint]:
        """The files of other, tainted runs at a path and beneath it."""
        with self.store.reading() as conn:
            found = written.beneath(conn, self.agent, str(place), limit=MAX_COMPARED + 1)
        all_of_them = len(found) > MAX_COMPARED
        for row in found:
            if row.run != self.run and (all_of_them or self._is_unchanged(row)):
                yield Taint(kind=TaintKind.FILE, source=row.path, sender=row.sender, run=row.run)

    def _is_unchanged(self, row: WrittenRow) -> bool:
        """Whether the snapshot holds the very bytes; where that cannot be found out, they count as there."""
        try:
            data = self.files.read_bytes(PurePosixPath(row.path).relative_to(WORKSPACE).parts, limit=_MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            return True
        return digest_bytes(data) == row.post_image


def _places(proposal: Proposal) -> tuple[PurePosixPath, ...]:
    """Where a call reads; a search without a path reads the whole directory."""
    return tuple(path.resolved for path in proposal.decision.paths) or (WORKSPACE,)
