"""How much a yes costs: the more a call can do that cannot be taken back, the more a person has to do. Pure."""

from __future__ import annotations

from enum import Enum

from runner.model import JsonObject, ToolClass
from runner.render.values import text_at, texts_at

#: What a kind of call costs, and nothing here is told to the supervisor: it decides by its own rules.
_TYPED = frozenset({ToolClass.EXECUTE.value, ToolClass.EXTERNAL_SEND.value, ToolClass.DELETE.value, ToolClass.UNKNOWN.value})
_LIGHT = frozenset({"CreateFolder"})


class Friction(Enum):
    """What a person does to say yes."""

    KEY = "one key"
    CONFIRM = "a key and a second one"
    TYPE = "a key, and the target typed"


def friction_of(record: JsonObject) -> Friction:
    """What approving this call costs; what is not known about it counts as the worst."""
    if text_at(record, "class") in _TYPED or not text_at(record, "class"):
        return Friction.TYPE
    if record.get("egress") is not False or not record.get("preview"):
        return Friction.TYPE
    plain = text_at(record, "sender") == "owner" and not texts_at(record, "warnings") and not record.get("denied_before")
    return Friction.KEY if plain and text_at(record, "tool") in _LIGHT else Friction.CONFIRM
