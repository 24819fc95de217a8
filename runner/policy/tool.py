"""One tool as the gate knows it: what it does, where it runs, what arguments it takes, how each path among them is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from runner.fence import TOOL_RULE
from runner.model import Json, JsonObject, Policy, ToolClass
from runner.paths import Want


class Place(Enum):
    """Who carries a call out."""

    CONTAINER = "container"  #: the CLI, on the snapshot
    BROKER = "broker"  #: the supervisor
    SUPERVISOR = "supervisor"  #: the supervisor, of its own accord; no model is offered it


class ArgumentKind(Enum):
    """The JSON type an argument must have; nothing is coerced."""

    TEXT = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a tool."""

    name: str
    about: str
    kind: ArgumentKind = ArgumentKind.TEXT
    required: bool = False
    choices: tuple[str, ...] = ()  #: empty: any text
    minimum: int | None = None
    path: Want | None = None  #: a path, and what it must name
    pattern: bool = False  #: a glob pattern
    blank_is_absent: bool = False  #: the CLI drops a blank one before its hook

    def json_schema(self) -> JsonObject:
        """Its JSON Schema."""
        schema: JsonObject = {"type": self.kind.value, "description": self.about}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.minimum is not None:
            schema["minimum"] = self.minimum
        return schema

    def fault(self, value: Json) -> str | None:
        """What is wrong with a value, as the end of a sentence about the argument."""
        if not self._is_kind(value):
            return f"must be a JSON {self.kind.value}"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(self.choices)}"
        if self.minimum is not None and isinstance(value, int | float) and value < self.minimum:
            return f"must be at least {self.minimum}"
        return None

    def _is_kind(self, value: Json) -> bool:
        match self.kind:
            case ArgumentKind.TEXT:
                return isinstance(value, str)
            case ArgumentKind.BOOLEAN:
                return isinstance(value, bool)
            case ArgumentKind.INTEGER:
                whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
                return whole and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Declared metadata of a tool (R87). The defaults are the worst case (R89)."""

    name: str
    description: str
    arguments: tuple[Argument, ...] | None  #: None: not known, any object
    tool_class: ToolClass = ToolClass.UNKNOWN
    reversible: bool = False
    returns_untrusted: bool = True
    egress: bool = True
    place: Place = Place.BROKER
    covered_from: Policy | None = None  #: loosest-but-one default policy that runs it unasked; None: no policy does
    unconfined: bool = True  #: a published profile needs `allow_unconfined_tools` for it (R52)
    available: bool = False  #: False: declared now, carried out by a later release

    @property
    def confined_read(self) -> bool:
        """Whether a strict run may run it unasked, its paths proven (C2)."""
        return self.tool_class is ToolClass.READ and self.reversible and not self.egress

    @property
    def told(self) -> str:
        """What the model is told of it where the supervisor offers it: what it does, and the standing rule (R11)."""
        return f"{self.description} {TOOL_RULE}" if self.place is Place.BROKER else self.description

    def metadata(self) -> JsonObject:
        """What is declared of it, as people and programs are shown it (R87)."""
        return {
            "name": self.name,
            "class": self.tool_class.value,
            "reversible": self.reversible,
            "returns_untrusted": self.returns_untrusted,
            "egress": self.egress,
        }

    def json_schema(self) -> JsonObject:
        """JSON Schema of the input, as offered to the model and bound by the definition digest."""
        if self.arguments is None:
            return {"type": "object"}
        properties: JsonObject = {argument.name: argument.json_schema() for argument in self.arguments}
        required: list[Json] = [argument.name for argument in self.arguments if argument.required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def fault(self, arguments: Mapping[str, Json]) -> str | None:
        """What is wrong with an input, as a sentence that repeats none of it; None when it fits (R50, cases 18, 19)."""
        if self.arguments is None:
            return None
        known = {argument.name: argument for argument in self.arguments}
        if not known.keys() >= arguments.keys():
            return f"The input has an argument that {self.name} does not take; it takes {', '.join(known)}."
        for argument in self.arguments:
            if argument.name not in arguments:
                if argument.required:
                    return f"The argument {argument.name} is missing."
                continue
            fault = argument.fault(arguments[argument.name])
            if fault is not None:
                return f"The argument {argument.name} {fault}."
        return None
