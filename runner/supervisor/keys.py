"""Which recorded call something that came over the wire is of: worked out beside the loop where it is large.

The key of a megabyte of small values takes a third of a second, and looking for a turn's calls in a line of 12 MiB three and a
half: no other run would get its turn meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

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


async def named_in(lines: Sequence[str], wire_ids: frozenset[str]) -> frozenset[str]:
    """Those of some calls that transcript lines name."""
    if sum(map(len, lines)) > _SHORT:
        return await asyncio.to_thread(_named_in, lines, wire_ids)
    return _named_in(lines, wire_ids)


def _named_in(lines: Sequence[str], wire_ids: frozenset[str]) -> frozenset[str]:
    return frozenset(wire_id for wire_id in wire_ids if any(json.dumps(wire_id) in line for line in lines))


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
