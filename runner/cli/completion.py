"""Shell completion of ids and names. Asks the supervisor; says nothing when there is none.

Only text that cannot act in a shell or on a terminal is offered (V3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from runner.cli.shared import as_list, connect
from runner.errors import RunnerError
from runner.model import Json, JsonObject

_HARMLESS = re.compile(r"[a-z0-9_-]{1,64}")


def pending(incomplete: str) -> list[str]:
    """Ids of approvals that wait."""
    return _offer("approvals", "id", incomplete, inside="approvals", state="pending")


def any_run(incomplete: str) -> list[str]:
    """Ids of runs."""
    return _offer("runs", "id", incomplete)


def agents(incomplete: str) -> list[str]:
    """Names of published profiles."""
    return _offer("profiles", "name", incomplete)


def _offer(noun: str, key: str, incomplete: str, *, inside: str | None = None, state: str | None = None) -> list[str]:
    try:
        with connect() as client:
            found: Json = client.get(noun, state=state)
        rows: Iterable[JsonObject] = as_list(found.get(inside) if inside and isinstance(found, dict) else found)
    except RunnerError:
        return []
    names = [str(row.get(key)) for row in rows]
    return [name for name in names if name.startswith(incomplete) and _HARMLESS.fullmatch(name)]
