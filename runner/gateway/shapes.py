"""Rules that re-build JSON from an allow-list: what no rule names does not exist (M6).

Owns the combinators `content` and `request` are written in. A rule takes a value and where it stands, and gives a new value
or refuses; nothing is passed through by reference but plain scalars and the free-form objects `anything` names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, TypeAlias

from runner.gateway.refusals import RequestRefusedError, clean
from runner.model import Json, JsonObject

Rule: TypeAlias = Callable[[Json, str], Json]


def refuse(where: str, why: str) -> NoReturn:
    """Refuse a request for what stands at `where`.

    Raises:
        RequestRefusedError: Always.
    """
    raise RequestRefusedError(f"cannot forward the request: {where} {why}")


def shown(word: object) -> str:
    """A word of the container's, quoted and short."""
    return clean(repr(word), 60)


def text(limit: int = 32 * 1024 * 1024) -> Rule:
    """Any string up to `limit` characters."""

    def rule(value: Json, where: str) -> Json:
        if not isinstance(value, str) or len(value) > limit:
            refuse(where, "is not a text of allowed length")
        return value

    return rule


def one_of(*words: str) -> Rule:
    """One of some fixed words."""

    def rule(value: Json, where: str) -> Json:
        if not isinstance(value, str) or value not in words:
            refuse(where, f"is {shown(value)}, which is not forwarded")
        return value

    return rule


def whole(low: int, high: int) -> Rule:
    """An integer within bounds."""

    def rule(value: Json, where: str) -> Json:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            refuse(where, f"is not a whole number from {low} to {high}")
        return value

    return rule


def number(low: float, high: float) -> Rule:
    """A number within bounds."""

    def rule(value: Json, where: str) -> Json:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            refuse(where, f"is not a number from {low} to {high}")
        return value

    return rule


def flag(value: Json, where: str) -> Json:
    """True or false."""
    if not isinstance(value, bool):
        refuse(where, "is neither true nor false")
    return value


def anything(value: Json, where: str) -> Json:
    """A free-form object: a tool's input or its schema."""
    if not isinstance(value, dict):
        refuse(where, "is not an object")
    return value


def listed(rule: Rule, limit: int) -> Rule:
    """A list of at most `limit` items that each fit `rule`."""

    def each(value: Json, where: str) -> Json:
        if not isinstance(value, list) or len(value) > limit:
            refuse(where, f"is not a list of at most {limit}")
        return [rule(item, f"{where}[{index}]") for index, item in enumerate(value)]

    return each


def text_or(rule: Rule) -> Rule:
    """A string, or what fits `rule`."""

    def either(value: Json, where: str) -> Json:
        return value if isinstance(value, str) else rule(value, where)

    return either


def record(
    needed: Mapping[str, Rule], maybe: Mapping[str, Rule] | None = None, *, dropped: frozenset[str] = frozenset()
) -> Rule:
    """An object with exactly these keys.

    Args:
        needed: Keys that must be there.
        maybe: Keys that may be there.
        dropped: Keys that are harmless and not forwarded. Every other key is refused.
    """
    rules = {**needed, **(maybe or {})}

    def rule(value: Json, where: str) -> Json:
        if not isinstance(value, dict):
            refuse(where, "is not an object")
        missing = needed.keys() - value.keys()
        if missing:
            refuse(where, f"lacks {min(missing)}")
        made: JsonObject = {}
        for key, item in value.items():
            if key in dropped:
                continue
            if key not in rules:
                refuse(where, f"has the key {shown(key)}, which is not forwarded")
            made[key] = rules[key](item, f"{where}.{key}")
        return made

    return rule


def by_type(kinds: Mapping[str, Rule]) -> Rule:
    """An object whose `type` chooses its rule."""

    def rule(value: Json, where: str) -> Json:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            refuse(where, f"is of type {shown(kind)}, which is not forwarded")
        return kinds[kind](value, where)

    return rule
