"""Whether a transcript that a container mirrored tells the run's calls as they are on record (case 109); pure.

The lines are the container's. A container that lied to its mirror would tell the next one, and through it the model, of calls
that were not made and of outcomes that were not had. Compared is what is on record: calls, and outcomes that were told. Of what
the agent's own reads found, and of what the model said beside its calls, `recorded` leaves only what was heard.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from runner.digest import MalformedJsonError, canonical, objects
from runner.errors import SandboxMismatchError
from runner.model import Json, JsonObject
from runner.transcript import Told


def check_mirrored(lines: Sequence[str], turns: Sequence[Sequence[Told]], *, made: Collection[str]) -> None:
    """Refuse a transcript that tells a call otherwise.

    Args:
        lines: The transcript a container is to be given.
        turns: The calls on record, turn by turn, with what is to be told of them.
        made: Ids of every call that was made, those without a turn included.

    Raises:
        SandboxMismatchError: It tells one otherwise.
    """
    told = {call.wire_id: call for turn in turns for call in turn}
    for kind, block in _blocks(lines):
        differs = _asked(block, told, made) if kind == "assistant" else _answered(block, told, made)
        if differs is not None:
            raise SandboxMismatchError(f"cannot trust the agent: the transcript its container left {differs}")


def _asked(block: JsonObject, told: Mapping[str, Told], made: Collection[str]) -> str | None:
    """A call: one that was made, of that tool and input."""
    if block.get("type") != "tool_use":
        return None
    identity, name, given = str(block.get("id")), block.get("name"), block.get("input")
    call = told.get(identity)
    if call is None:
        return None if identity in made else "has a call that the model did not make"
    if name != call.name or (call.askable and not _same(given, dict(call.arguments))):
        return "tells a call otherwise than the model made it"
    return None


def _answered(block: JsonObject, told: Mapping[str, Told], made: Collection[str]) -> str | None:
    """A result: of a call that was made; one that is no error is the recorded outcome, where there is one."""
    if block.get("type") != "tool_result":
        return None
    identity = str(block.get("tool_use_id"))
    if identity not in told and identity not in made:
        return "has a result of a call that the model did not make"
    call = told.get(identity)
    if call is None or call.text is None or block.get("is_error") is True:
        return None  # the agent's own reads, and errors, claim nothing that was done
    if call.is_error or _text(block.get("content")) != call.text.rstrip():
        return "tells an outcome that is not on record"
    return None


def _same(given: Json, made: Json) -> bool:
    try:
        return canonical(given) == canonical(made)
    except MalformedJsonError:
        return False


def _text(content: Json) -> str:
    parts: Json = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [part.get("text") for part in objects(parts)]
    return str(texts[0]).rstrip() if texts else ""


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, JsonObject]]:
    """Every block of what the model and its user say, with who says it."""
    for line in map(json.loads, lines):
        message = line.get("message") if isinstance(line, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in objects(content):
            yield str(line.get("type")), block
