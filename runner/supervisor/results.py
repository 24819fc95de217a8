"""Whether what a CLI tells its model about a call can be, by what is on record (design.md §2.4); pure.

Of a brokered call the outcome is compared; of one that the CLI carries out itself, whether it was let run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from runner.gateway import ToolResult
from runner.model import CallId, Verdict
from runner.supervisor.entries import Entry, Phase
from runner.supervisor.proposals import NOT_OFFERED
from runner.transcript import NOT_RUN

#: The CLI cuts the middle out of an error that is longer than it likes; the beginning stays.
_COMPARED = 4000


class Told(NamedTuple):
    """What a CLI says of the last turn's calls: the results of those that it carried out itself; and what cannot be so."""

    ran: Mapping[CallId, ToolResult]
    doubt: str | None


def told_of(results: Sequence[ToolResult], turn: Sequence[Entry]) -> Told:
    """Read the results of one request against the last turn's calls, up to the first that cannot be."""
    by_id: dict[str, list[Entry]] = {}
    for entry in turn:
        by_id.setdefault(entry.wire_id, []).append(entry)
    ran: dict[CallId, ToolResult] = {}
    for result in results:
        entries = by_id.get(result.tool_use_id, [])
        if any(entry.in_container or entry.decision.rule in NOT_OFFERED for entry in entries):
            ran.setdefault(entries[0].call, result)
            if not result.is_error and not any(may_have_run(twin) for twin in twins(entries, turn)):
                return Told(ran, "it carried out a call that it was not allowed")
        elif entries and contradicts(result, entries):
            return Told(ran, "it reports an outcome that is not on record")
    return Told(ran, None)


def contradicts(result: ToolResult, entries: Sequence[Entry]) -> bool:
    """Whether a result is not what the container was told about any of the calls that go by its id.

    A result that is no error has to be the outcome, less one trailing newline. An error has to hold what was told as an
    error, and none may stand for a call that was told it is done. An error about a call of which nothing was told yet is the
    CLI's own, and claims nothing.
    """
    told = [entry for entry in entries if entry.told is not None]
    if not result.is_error:
        return result.text.removesuffix("\n") not in [str(entry.told).removesuffix("\n") for entry in told]
    return bool(told) and not any(entry.told_error and _begins_in(str(entry.told), result.text) for entry in told)


def may_have_run(entry: Entry) -> bool:
    """Whether the CLI may have carried out a call of its own: decided so, or asked about and confirmed; and not refused since.

    After a park, one of them that was not open is noted as not run: its result, if there is one, is older.
    """
    if entry.told not in {None, NOT_RUN}:
        return False
    if entry.decision.verdict is Verdict.ASK:
        return entry.phase is Phase.CLOSED
    return entry.decision.verdict is Verdict.ALLOW


def twins(entries: Sequence[Entry], turn: Sequence[Entry]) -> list[Entry]:
    """The calls of a turn that the gate cannot tell from these: which of them was let run is known by their words only."""
    keys = {entry.key for entry in entries if entry.key is not None}
    return [entry for entry in turn if entry in entries or entry.key in keys]


def _begins_in(told: str, said: str) -> bool:
    return told.strip()[:_COMPARED] in said
