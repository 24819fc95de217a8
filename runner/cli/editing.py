"""A call's input as an approver edited it: read from a file, planned by the supervisor (D2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

from runner.api.client import Client, as_object
from runner.cli.several import Named
from runner.cli.shared import read_input
from runner.errors import UsageError
from runner.model import JsonObject

#: Bytes of a file that are read at all; the gate takes fewer.
_MOST = 512 * 1024

EditFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--edit", metavar="FILE|-", help="Its input as you changed it, one JSON object; the tool stays the same."),
]


def read_edit(name: str) -> str:
    """The edited input, exactly as the file has it.

    Raises:
        UsageError: It cannot be read, or is no text.
    """
    try:
        return read_input(name, option="--edit", limit=_MOST).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("cannot edit the call: its input is not UTF-8 text", resolution="JSON is UTF-8") from None


def edit_for(name: str | None, calls: Sequence[Named], *, alone: bool) -> str | None:
    """The edited input of the one call that is approved; None without an edit.

    Args:
        name: The file.
        calls: What the command line names.
        alone: Whether nothing else is asked for with it, such as a saved verdict or a whole list.

    Raises:
        UsageError: An edit of several calls, or with something that goes beyond this call.
    """
    if name is None:
        return None
    if not alone or len(calls) != 1:
        raise UsageError(
            "cannot edit: an edit is of one call, and goes with no list and no saved verdict",
            resolution="runner approve ID --edit FILE",
        )
    return read_edit(name)


def planned(client: Client, ref: str, text: str) -> JsonObject:
    """The approval as it would be with this input: digest, preview, warnings and the difference. Nothing is changed."""
    return as_object(client.post("approvals", ref, "edit", body={"input": text}))
