"""The key of a call as it came over the wire: worked out beside the loop where its input is large.

A megabyte of small values takes a third of a second, in which no other run would get its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from runner.digest import MalformedJsonError
from runner.model import Json
from runner.policy import call_key

#: Values, and characters, up to which a key costs less than a thread.
_FEW, _SHORT = 500, 64 * 1024


async def key_of(tool: str, arguments: Mapping[str, Json]) -> str | None:
    """The key, or None: the input has no canonical form, so that it can be no recorded call's."""
    try:
        return await asyncio.to_thread(call_key, tool, arguments) if _large(arguments) else call_key(tool, arguments)
    except MalformedJsonError:
        return None


def _large(arguments: Mapping[str, Json]) -> bool:
    """Whether there is much in it; looked at no further than that."""
    todo: list[Json] = [dict(arguments)]
    seen = characters = 0
    while todo:
        value = todo.pop()
        seen += 1
        if isinstance(value, str):
            characters += len(value)
        elif isinstance(value, dict):
            seen, characters = seen + len(value), characters + sum(map(len, value))
            todo.extend(value.values())
        elif isinstance(value, list):
            seen += len(value)
            todo.extend(value)
        if seen > _FEW or characters > _SHORT:
            return True
    return False
