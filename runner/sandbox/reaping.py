"""Removal by label: of what a former boot of this state directory's supervisor left, and of what this one has (M8, case 97).

A container is labelled when it is made, so one that is being made right now is never taken for a leftover.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from runner.sandbox.box import Disposer, dispose
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL

_STOPPED = ("exited", "dead")


class Finder(Disposer, Protocol):
    """What finding needs of the engine."""

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        """See Engine."""
        ...


async def ours(engine: Finder, *, owner: str, boot: str) -> frozenset[str]:
    """Ids of what this boot has made and not removed.

    Raises:
        SandboxError: The engine does not say.
    """
    return frozenset(await engine.find({STATE_LABEL: owner, BOOT_LABEL: boot}))


async def left(engine: Finder, *, owner: str, boot: str) -> frozenset[str]:
    """Ids of what former boots of this state directory's supervisor left.

    Raises:
        SandboxError: The engine does not say.
    """
    every = frozenset(await engine.find({STATE_LABEL: owner}))
    return every - await ours(engine, owner=owner, boot=boot) if every else every


async def stopped(engine: Finder, these: frozenset[str]) -> frozenset[str]:
    """Those that have run and run no longer: whoever started them has no use for them.

    Raises:
        SandboxError: The engine does not say.
    """
    found = {one: await engine.inspect(one) for one in sorted(these)}
    return frozenset(one for one, described in found.items() if described and described["State"].get("Status") in _STOPPED)


async def remove(engine: Finder, these: frozenset[str], *, owner: str) -> frozenset[str]:
    """Remove them, all at once, each within its bound; those that are really gone.

    Raises:
        SandboxError: The engine does not say what is there.
    """
    await asyncio.gather(*(dispose(engine, container) for container in these))
    return these - frozenset(await engine.find({STATE_LABEL: owner})) if these else these
