"""What an id of any kind names: its first letter says which kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from runner.errors import NotFoundError
from runner.model import JsonObject

Look: TypeAlias = Callable[[str], Awaitable[JsonObject]]

#: Kind by the letter that its ids begin with.
KINDS = {"a": "approval", "r": "run", "c": "capture", "p": "reply", "g": "grant", "s": "share"}


async def found(ref: str, looks: Mapping[str, Look]) -> JsonObject:
    """What `ref` names, with its kind.

    Args:
        ref: An id or its beginning.
        looks: How one of each kind is looked up.

    Raises:
        NotFoundError: Nothing, or no id of ours begins like that.
    """
    kind = KINDS.get(ref[:1]) if ref[1:2] == "_" else None
    if kind is None:
        *most, last = (f"{letter}_" for letter in KINDS)
        raise NotFoundError(f"cannot find {ref}: ids start with {', '.join(most)} or {last}")
    return {"kind": kind, **await looks[kind](ref)}
