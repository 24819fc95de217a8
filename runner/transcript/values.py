"""What a transcript is made of: calls and what is told of them, and what its lines carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runner.model import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One call of a turn and what the model is told about it.

    `name` and `arguments` are what the CLI was handed. `text` None: only the container can give its result. `askable`: the
    CLI, asked for this call again, would bring it to the gate and get an answer there.
    """

    wire_id: str
    name: str
    arguments: Mapping[str, Json]
    text: str | None
    is_error: bool = False
    askable: bool = True


class Turn(NamedTuple):
    """One reply of the model that had calls: its words, and what came of the calls."""

    words: str
    calls: Sequence[Told]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What a fresh container is given.

    `deferred` is the index, in the last turn, of the call that the CLI asks for again; None: it has to be nudged. `unrun` are
    indexes, in the last turn, of calls that only the container could have answered and whose model was told to ask again.
    """

    kept: tuple[str, ...]  #: of the mirrored lines, in order
    added: tuple[str, ...]  #: ours, to be stored before the container starts
    deferred: int | None
    unrun: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scribe:
    """The constant fields of a line we write, and where its id and time come from."""

    session_id: str
    cli_version: str
    new_uuid: Callable[[], str]
    timestamp: str  #: ISO 8601
    parent: str | None = None  #: the line that the conversation goes on from; None: it begins with the run
