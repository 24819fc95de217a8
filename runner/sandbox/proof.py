"""The proof that a started container is what its spec asks, from three sides: the engine's answer, its own, the host's (M2).

Owns that nothing of the agent runs before all three agree: the container's first process waits for a word until then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from runner.errors import SandboxError, SandboxMismatchError
from runner.sandbox.box import Box, Proof
from runner.sandbox.confined import Confined
from runner.sandbox.inspection import differences
from runner.sandbox.kernels import Kernel
from runner.sandbox.outside import Outside, outside_faults
from runner.sandbox.probe import MAX_REPORT, SPACES, HostView, discrepancies, parse_report
from runner.sandbox.sentry import Sentry, sentry_faults
from runner.sandbox.spec import SandboxSpec

REPORT_SECONDS = 30.0
#: Until the runtime's own process has become the container's first one.
SETTLE = 2.0
#: Differences of one side that are told; the rest are counted.
MOST = 12
#: The word that the start-up probe waits for.
GO = b"go\n"
#: Who sees a difference, in the words of an error's details and of the wall's table.
ENGINE, INSIDE, OUTSIDE = "engine", "inside", "host"


class Prover(Protocol):
    """What proving needs of the engine."""

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """See Engine."""
        ...

    async def look(self, pid: int, spec: Confined) -> Outside | Sentry:
        """See Engine."""
        ...


async def prove(engine: Prover, spec: SandboxSpec, box: Box) -> Proof:
    """Hold a started container against its spec.

    Raises:
        SandboxMismatchError: Somebody sees a difference; the details say who and which, as "inside: CapBnd; host: CapBnd".
        SandboxError: It does not report.
    """
    report = asyncio.create_task(_report(box))  # it takes its time, in which the engine can be asked
    try:
        return await _proven(engine, spec, box, report)
    finally:
        report.cancel()
        await asyncio.gather(report, return_exceptions=True)


async def _proven(engine: Prover, spec: SandboxSpec, box: Box, report: Awaitable[None]) -> Proof:  # noqa: PLR0917 - of one proof
    facts = await engine.inspect(box.container_id)
    found = {ENGINE: ("the container is gone",) if facts is None else differences(spec, facts)}
    try:
        await report
    except SandboxError:
        # One that is not what was asked may well be unable to report; that is the lesser news.
        if found[ENGINE]:
            raise _mismatch(found) from None
        raise
    found[INSIDE] = discrepancies(spec, box.report, host=await asyncio.to_thread(_host_view, spec))
    seen = await _outside(engine, spec, facts or {})
    found[OUTSIDE] = _outside_faults(spec, seen, container=box.container_id)
    if any(found.values()):
        raise _mismatch(found)
    return Proof(spec=spec.digest(), unseen=("a kernel of its own",) if seen is None else seen.unseen)


async def prove_again(engine: Prover, box: Box) -> Proof:
    """Hold a container that has been running against its spec once more: what the engine says, and what the host sees.

    Raises:
        SandboxMismatchError: Either sees a difference.
    """
    if box.spec is None:
        raise SandboxMismatchError("cannot trust the container: nobody knows what it was asked to be")
    facts = await engine.inspect(box.container_id)
    found = {ENGINE: ("the container is gone",) if facts is None else differences(box.spec, facts)}
    seen = None if facts is None else await _outside(engine, box.spec, facts)
    found[OUTSIDE] = _outside_faults(box.spec, seen, container=box.container_id)
    if any(found.values()):
        raise _mismatch(found)
    return Proof(spec=box.spec.digest(), unseen=("a kernel of its own",) if seen is None else seen.unseen)


async def _report(box: Box) -> None:
    try:
        async with asyncio.timeout(REPORT_SECONDS):
            line = await box.first_line(limit=MAX_REPORT)
    except TimeoutError as error:
        raise SandboxError(f"cannot start the container: no report within {REPORT_SECONDS:g} seconds") from error
    box.report = parse_report(line)


async def seen_otherwise(engine: Prover, spec: Confined, container: str, *, settle: float = SETTLE) -> tuple[str, ...]:
    """What the host sees of a started container otherwise than asked; for one whose first process reports nothing itself.

    Args:
        engine: Where it is.
        spec: What was asked.
        container: Its id.
        settle: Seconds in which it may become what was asked: right after the start the runtime's own process stands there.

    Raises:
        SandboxMismatchError: It cannot be looked at.
    """
    until = time.monotonic() + settle
    while True:
        facts = await engine.inspect(container)
        if facts is None:
            return ("the container is gone",)
        found = _outside_faults(spec, await _outside(engine, spec, facts), container=container)
        if not found or time.monotonic() >= until:
            return found
        await asyncio.sleep(0.02)


async def _outside(engine: Prover, spec: Confined, facts: Mapping[str, Any]) -> Outside | Sentry | None:
    """None for a kernel that nobody knows: what this host's kernel says of its processes is not the agent's world."""
    if spec.kernel is Kernel.OTHER:
        return None
    return await engine.look(int((facts.get("State") or {}).get("Pid") or 0), spec)


def _outside_faults(spec: Confined, seen: Outside | Sentry | None, *, container: str) -> tuple[str, ...]:
    if seen is None:
        return ()
    if isinstance(seen, Sentry):
        return sentry_faults(spec, seen, container=container)
    return outside_faults(spec, seen, container=container)


def _mismatch(found: Mapping[str, tuple[str, ...]]) -> SandboxMismatchError:
    # A few of each: one side's long list must not push out another side's word.
    said = [f"{who}: {what}" for who, differing in found.items() for what in _first(differing)]
    return SandboxMismatchError(
        "cannot trust the container: what is in force is not what was asked",
        details="; ".join(said)[:4000],
        resolution="run `runner doctor`; an engine or kernel that drops a protection cannot host agents",
    )


def _first(differing: tuple[str, ...]) -> tuple[str, ...]:
    shown, rest = differing[:MOST], differing[MOST:]
    return (*shown, f"{len(rest)} more") if rest else shown


def _host_view(spec: SandboxSpec) -> HostView:
    places = {}
    for mount in spec.mounts:
        facts = mount.source.stat()
        places[str(mount.target)] = f"{facts.st_dev}:{facts.st_ino}"
    spaces = {}
    for name in (*SPACES, "user"):
        with contextlib.suppress(OSError):
            spaces[name] = os.readlink(f"/proc/self/ns/{name}").partition("[")[2].rstrip("]")  # noqa: PTH115 - no file
    return HostView(places=places, spaces=spaces)
