"""What the commands share: the client, options that mean the same everywhere, reading a person's files.

Owns no verb. Nothing here prints.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import typer

from runner.cli.credential import chosen_signer
from runner.errors import NotFoundError, RunnerError, UsageError
from runner.model import Json, JsonObject
from runner.settings import control_socket, load_settings

if TYPE_CHECKING:
    from runner.api.client import Client

#: Panels of `runner --help`, in the order of the contract.
SUPERVISOR, PROFILES, CAPTURES, DECISIONS, RECORD = "Supervisor", "Profiles", "Captures and runs", "Decisions", "Record"

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
Reason: TypeAlias = Annotated[str | None, typer.Option("--reason", help="Why; kept with the decision.", metavar="TEXT")]


class Reached(NamedTuple):
    """What an id or prefix names."""

    kind: str
    id: str


def connect() -> Client:
    """A client of this host's supervisor, for a `with` block."""
    from runner.api.client import Client  # noqa: PLC0415 - commands that need no supervisor start without its HTTP client

    return Client(control_socket(load_settings()), signer=chosen_signer())


def now() -> datetime:
    """The time for ages on a screen."""
    return datetime.now(UTC)


def reach(client: Client, ref: str, *kinds: str) -> Reached:
    """What `ref` names, if it is one of `kinds`.

    Raises:
        NotFoundError: It names nothing, several things, or something of another kind.
    """
    found = client.record("find", need_ref(ref))
    reached = Reached(str(found.get("kind")), str(found.get("id", ref)))
    if reached.kind not in kinds:
        raise NotFoundError(
            f"cannot find {' or '.join(kinds)} {ref}: it is {'an' if reached.kind == 'approval' else 'a'} {reached.kind}",
            resolution=f"runner show {ref}",
        )
    return reached


def need_ref(ref: str) -> str:
    """An id or prefix that can stand in a path.

    Raises:
        UsageError: It cannot be one.
    """
    if not ref or not ref.isascii() or not all(char.isalnum() or char == "_" for char in ref):
        raise UsageError(
            f"cannot use {ref!r} as an id: ids are letters, digits and _", resolution="runner approvals, runner runs"
        )
    return ref


def read_input(name: str, *, option: str, limit: int) -> bytes:
    """The bytes of a file, or of stdin for `-`.

    Raises:
        UsageError: It cannot be read or is larger than `limit` bytes.
    """
    try:
        if name == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(limit + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL or a surrogate in the name
        cause = error.strerror if isinstance(error, OSError) else "that is no file name"
        raise UsageError(f"cannot read {option} {name}: {cause}", resolution="check the path") from None
    if len(data) > limit:
        raise UsageError(f"cannot read {option} {name}: it is over {limit} bytes", resolution="send less")
    return data


def as_list(value: Json) -> list[JsonObject]:
    """The value, if it is a list of objects.

    Raises:
        RunnerError: The supervisor answered something else.
    """
    if not isinstance(value, list):
        raise RunnerError("cannot read the supervisor's answer: it is no list")
    return [item for item in value if isinstance(item, dict)]
