"""Whether what a CLI tells its model about a brokered call is what is on record (design.md §2.4); pure."""

from __future__ import annotations

from collections.abc import Sequence

from runner.gateway import ToolResult
from runner.supervisor.entries import Entry

#: The CLI cuts the middle out of an error that is longer than it likes; the beginning stays.
_COMPARED = 4000


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


def _begins_in(told: str, said: str) -> bool:
    return told.strip()[:_COMPARED] in said
