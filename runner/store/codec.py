"""Between columns and values: JSON text, senders, paths. What cannot be read back is corruption, never a default (L7)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Protocol, TypeVar

from sqlalchemy import ColumnElement, RowMapping

from runner.digest import digest_bytes
from runner.errors import StoreError
from runner.model import Digest, Json, ResolvedPath, Sender, SenderKind
from runner.store.rows import Approver

Row = TypeVar("Row")
Condition = ColumnElement[bool]


def dump(value: Json) -> str:
    """JSON text in one spelling, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def dump_paths(paths: Sequence[ResolvedPath]) -> str:
    """Paths as JSON text."""
    return dump([[path.asked, str(path.resolved)] for path in paths])


def load_paths(text: str) -> tuple[ResolvedPath, ...]:
    """The reverse of `dump_paths`."""
    return tuple(ResolvedPath(asked=asked, resolved=PurePosixPath(resolved)) for asked, resolved in json.loads(text))


def sender_columns(sender: Sender) -> dict[str, str | None]:
    """A sender's three columns."""
    return {
        "sender_kind": sender.kind.value,
        "sender_petname": sender.petname,
        "sender_fingerprint": sender.fingerprint,
    }


def load_sender(found: RowMapping) -> Sender:
    """The reverse of `sender_columns`."""
    return Sender(
        kind=SenderKind(found["sender_kind"]),
        petname=found["sender_petname"],
        fingerprint=found["sender_fingerprint"],
    )


def by(approver: Approver | None) -> dict[str, Json]:
    """Who did it, as a fact of an audit row; nothing when it was the supervisor itself."""
    return {} if approver is None else {"by": approver.facts()}


class Planned(Protocol):
    """What has a target and something that is to be left there."""

    @property
    def paths(self) -> Sequence[ResolvedPath]:
        """Its targets."""
        ...

    @property
    def post_image(self) -> Digest | None:
        """What is to be left there."""
        ...


def planned(what: Planned) -> dict[str, Json]:
    """What a call is after, as facts of an audit row: its target by digest, and the digest of what is to be left there (A4)."""
    target = "\0".join(sorted(str(path.resolved) for path in what.paths))
    return {"target": digest_bytes(target.encode("utf-8", "surrogatepass")) if target else None, "leaves": what.post_image}


def left(image: Digest | None) -> dict[str, Json]:
    """What an effect says it left at its target, as a fact of an audit row; nothing where it says nothing (A4)."""
    return {} if image is None else {"left": image}


def read(parse: Callable[[RowMapping], Row], found: RowMapping) -> Row:
    """A row parsed.

    Raises:
        StoreError: A column holds what this version does not know: another version wrote it, or it is damaged.
    """
    try:
        return parse(found)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            "cannot read the database: a row holds a value this version does not know",
            details=str(error),
            resolution="run the version that wrote it, or restore a backup",
        ) from error
