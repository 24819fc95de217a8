"""Looks at the whole audit without a supervisor: whether it holds, and every row of it; for the command line (A1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.api import acktrace
from runner.errors import NotFoundError, RunnerError, UsageError
from runner.model import JsonObject
from runner.settings import Settings
from runner.store.chain import Checked, Link, Place, check, place
from runner.store.offline import Offline, looking, place_of


@contextmanager
def reading(settings: Settings) -> Iterator[Offline]:
    """One consistent look at the database, whether or not a supervisor is at work on it.

    Raises:
        NotFoundError: There is none yet.
        StoreError: It cannot be read.
    """
    database = place_of(settings.database_url.get_secret_value())
    if isinstance(database, Path) and not database.exists():
        raise NotFoundError("cannot find the audit: there is no database yet", resolution="runner up makes one")
    with looking(database) as rows:
        yield rows


def anchor_of(text: str) -> Place:
    """An anchor as `runner audit anchor` printed it.

    Raises:
        UsageError: It is none.
    """
    found = place(" ".join(text.split()))
    if found is None or len(found.hash) != len("sha256:") + 64:
        raise UsageError(
            "cannot compare with the anchor: it is no row number and hash", resolution="""such as --anchor "12 sha256:…\""""
        )
    return found


def verify(rows: Offline, anchor: Place | None = None) -> Checked:
    """Follow the chain, to the note of its end and to an anchor."""
    return check(rows.audit, end=rows.audit_end(), anchor=anchor)


def verified_document(checked: Checked, anchor: Place | None) -> JsonObject:
    """What `runner audit verify --json` answers."""
    broken, loose = checked.broken, checked.loose
    return {
        "ok": broken is None,
        "rows": checked.end.seq,
        "end": str(checked.end),
        "anchor": None if anchor is None else str(anchor),
        "unanchored_since": None if loose is None else {"seq": loose.seq, "time": loose.time},
        "broken": None if broken is None else {"seq": broken.seq, "fault": broken.fault.value, "says": broken.says},
    }


def row_document(link: Link) -> JsonObject:
    """A row as it is exported: every field that its hash is made of, `data` as the exact text."""
    return {name: value if isinstance(value, str | int) else _number(value) for name, value in link._asdict().items()}


def trace_documents(rows: Offline, run: str | None) -> Iterator[JsonObject]:
    """The audit as a trace for `agentack`, of one run where asked.

    Args:
        rows: The database.
        run: An id or its beginning.

    Raises:
        RunnerError: The audit does not hold, so nothing can be judged by it.
        NotFoundError: There is no such run, or several.
    """
    broken = verify(rows).broken
    if broken is not None:
        raise RunnerError(f"cannot export a trace: the audit does not hold, {broken.says}", resolution="runner audit verify")
    return acktrace.trace(rows.audit(), run=None if run is None else _whole_run(rows, run))


def _whole_run(rows: Offline, ref: str) -> str:
    wanted = f"r_{ref.strip().lower().removeprefix('r_')}"
    found = {link.subject for link in rows.audit() if link.event.startswith("run.") and link.subject.startswith(wanted)}
    if len(found) != 1 or len(wanted) < len("r_") + 6:
        raise NotFoundError(f"cannot find run {ref}: {len(found) or 'no'} runs of the audit begin so", resolution="runner runs")
    return found.pop()


def _number(value: object) -> float | str:
    return value if isinstance(value, float) and math.isfinite(value) else repr(value)
