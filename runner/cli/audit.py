"""audit verify, anchor and export: the record checked and taken elsewhere; no supervisor is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runner.api import auditing
from runner.cli.shared import RECORD, JsonFlag
from runner.errors import RunnerError, UsageError
from runner.model import JsonObject
from runner.render import Screen, Styled
from runner.render.values import moment
from runner.settings import load_settings

if TYPE_CHECKING:
    from runner.store.chain import Checked, Place
    from runner.store.offline import Offline

#: How an export's file is made: it is never another's, nor written over.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Format(Enum):
    """How the audit is written out."""

    JSONL = "jsonl"
    AGENTACK = "agentack"


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="Check the record of what was done, and take it elsewhere.")
    group.command(epilog='Example: runner audit verify --anchor "$KEPT"')(verify)
    group.command(epilog="Example: runner audit anchor >> /mnt/elsewhere/anchors")(anchor)
    group.command(epilog="Example: runner audit export --format jsonl audit.jsonl")(export)
    app.add_typer(group, name="audit", rich_help_panel=RECORD)


def verify(
    *,
    kept: Annotated[
        str | None, typer.Option("--anchor", metavar='"SEQ HASH"', help="What runner audit anchor printed earlier.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Check that no row of the audit was changed, removed, reordered, put in or cut off; exit 1 names the first one.

    The newest rows together with the note of the chain's end can be cut off without a trace in the database: only an anchor
    that was kept elsewhere tells.
    """
    screen = Screen(json=json)
    anchor = None if kept is None else auditing.anchor_of(kept)
    with auditing.reading(load_settings()) as rows:
        checked = auditing.verify(rows, anchor)
    if json:
        screen.document(auditing.verified_document(checked, anchor))
    elif checked.broken is not None:
        screen.say(Styled("the audit does not hold: ", "bold red"), checked.broken.says)
    else:
        screen.say(Styled("the audit holds", "bold green"), f": {checked.end.seq} rows")
        _say_what_is_loose(screen, checked, anchor)
    if checked.broken is not None:
        raise typer.Exit(1)


def _say_what_is_loose(screen: Screen, checked: Checked, anchor: Place | None) -> None:
    if checked.loose is None:
        return
    when = moment(checked.loose.time)
    said = "" if when is None else f", {when:%Y-%m-%d %H:%M:%S} UTC"
    covered = "no anchor was given" if anchor is None else f"the anchor covers rows 1 to {anchor.seq}"
    screen.say(f"unanchored since row {checked.loose.seq}{said} ({covered}): what was cut off behind it with the note of the")
    screen.say("end, or written anew from it on, would not be noticed; keep what runner audit anchor prints in another place")


def anchor() -> None:
    """Print the number and hash of the newest row, to be kept where who can write the database cannot."""
    with auditing.reading(load_settings()) as rows:
        checked = auditing.verify(rows)
    if checked.broken is not None:
        raise RunnerError(
            f"cannot make an anchor: the audit does not hold, {checked.broken.says}", resolution="runner audit verify"
        )
    Screen().say(str(checked.end))


def export(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A new file; stdout without one.")] = None,
    *,
    format: Annotated[Format, typer.Option("--format", help="One JSON object a line.")] = Format.JSONL,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="With agentack: only of this run.")] = None,
) -> None:
    """Write the audit out, oldest first; docs/approvals.md says how each format is read.

    jsonl: every row with all that its hash is made of. agentack: the life of every call that could change something, for the
    checker of that name. Both hold facts and digests, never what a call would write.
    """
    if run is not None and format is not Format.AGENTACK:
        raise UsageError("cannot export one run as jsonl: its hashes are a chain of all rows", resolution="--format agentack")
    with auditing.reading(load_settings()) as rows:
        documents = _rows(rows) if format is Format.JSONL else auditing.trace_documents(rows, run)
        if file is None:
            _write(documents, Screen(json=True))
            return
        try:
            with os.fdopen(os.open(file, _NEW, 0o600), "w", encoding="utf-8") as output:
                _write(documents, Screen(json=True, stdout=output))
        except OSError as error:
            raise UsageError(
                f"cannot write {file}: {error.strerror}", resolution="name a new file, on a disk with room"
            ) from None


def _rows(rows: Offline) -> Iterator[JsonObject]:
    return (auditing.row_document(link) for link in rows.audit())


def _write(documents: Iterable[JsonObject], screen: Screen) -> None:
    for one in documents:
        screen.document(one, compact=True)
