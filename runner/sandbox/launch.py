"""The launch of one container, in order: create, record, attach, start, prove, let the agent begin.

Owns that a container either matches its spec in force or does not exist (invariants 6 and 11, M2, cases 97-99).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from runner.errors import SandboxError, SandboxUnavailableError
from runner.model import WORKSPACE, Digest, Limits, RunId
from runner.resources import sandbox_dir
from runner.sandbox.box import Box, Disposer, dispose, finish
from runner.sandbox.engine import Attached, ImageInfo
from runner.sandbox.kernels import calls_for, kernel_of, threads_of
from runner.sandbox.proof import GO, Prover, prove
from runner.sandbox.spec import GATEWAY, HOME, SESSION, Mount, SandboxSpec, create_kwargs

#: Label that every container of ours carries; its value names the state directory whose supervisor owns it.
STATE_LABEL = "runner.state"
#: Its value names the boot of that supervisor: what another boot made is left over.
BOOT_LABEL = "runner.boot"
_LAUNCH_LABEL = "runner.launch"
_SWEEP_SECONDS = 60.0
_PATH = "/usr/local/bin:/usr/bin:/bin"
_log = logging.getLogger(__name__)


class ContainerEngine(Disposer, Prover, Protocol):
    """What launching needs of the engine."""

    async def create(self, body: Mapping[str, Any]) -> str:
        """See Engine."""
        ...

    async def start(self, container: str) -> None:
        """See Engine."""
        ...

    async def attach(self, container: str) -> Attached:
        """See Engine."""
        ...

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        """See Engine."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounts:
    """The host directories a container sees, all read-only."""

    snapshot: Path
    gateway: Path
    session: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOrder:
    """What to launch, and for whom."""

    run: RunId
    segment: int
    attempt: int
    agent: str
    profile_digest: Digest
    uid: int
    image: ImageInfo
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: Mounts
    limits: Limits
    owner: str  #: names the state directory whose supervisor this is
    boot: str = ""  #: names that supervisor's boot
    runtime: str | None = None


def spec_for(order: LaunchOrder, *, seccomp: str, launch: str) -> SandboxSpec:
    """The spec of an order.

    Args:
        order: The order.
        seccomp: Text of our list.
        launch: A name no other launch has, by which this one's container is found whatever happens.

    Raises:
        SandboxError: It asks for what no agent's container may have.
    """
    session = () if order.mounts.session is None else (Mount(source=order.mounts.session, target=SESSION),)
    return SandboxSpec(
        image=order.image.id,
        argv=order.argv,
        environment={"PATH": _PATH, "HOME": str(HOME), **order.environment},
        uid=order.uid,
        mounts=(
            Mount(source=order.mounts.snapshot, target=WORKSPACE),
            Mount(source=order.mounts.gateway, target=GATEWAY),
            *session,
        ),
        memory=order.limits.memory,
        cpus=order.limits.cpus,
        pids=order.limits.pids + threads_of(kernel_of(order.runtime)),
        seccomp=calls_for(kernel_of(order.runtime), seccomp),
        runtime=order.runtime,
        labels={
            STATE_LABEL: order.owner,
            **({BOOT_LABEL: order.boot} if order.boot else {}),
            _LAUNCH_LABEL: launch,
            "runner.run": order.run,
            "runner.segment": str(order.segment),
            "runner.attempt": str(order.attempt),
            "runner.agent": order.agent,
            "runner.profile": order.profile_digest,
        },
    )


async def launch(engine: ContainerEngine, order: LaunchOrder, *, on_created: Callable[[str], Awaitable[None]]) -> Box:
    """Launch a container and prove it.

    Args:
        engine: The engine.
        order: What to launch.
        on_created: Told the container's id before anything runs in it: where the row container ↔ attempt is written.

    Raises:
        SandboxMismatchError: What is in force differs from what was asked; the container is gone.
        SandboxError: It could not be started; the container is gone.
    """
    mounts = await asyncio.to_thread(_real, order.mounts)
    seccomp = await asyncio.to_thread((sandbox_dir() / "seccomp.json").read_text, encoding="utf-8")
    marker = secrets.token_hex(16)
    spec = spec_for(_with_mounts(order, mounts), seccomp=seccomp, launch=marker)
    creation = asyncio.create_task(engine.create(create_kwargs(spec)))
    stream: list[Attached] = []
    try:
        container = await asyncio.shield(creation)
        await on_created(container)
        stream.append(await engine.attach(container))
        box = Box(engine, container, stream[0])
        box.spec = spec
        await engine.start(container)
        box.proof = await prove(engine, spec, box)
        await box.send(GO)
    except BaseException:
        for attached in stream:
            attached.writer.transport.abort()
        await finish(_discard(engine, creation, marker))
        raise
    return box


async def reap(engine: ContainerEngine, *, owner: str | None, keep: Collection[str]) -> tuple[str, ...]:
    """Remove leftovers: containers of this state directory that nobody keeps (case 97).

    Args:
        engine: The engine.
        owner: The state directory's name; None for every runner's on this engine.
        keep: Ids that live.

    Returns:
        Ids that were removed. One whose removal hangs is stepped over and logged.
    """
    found = [container for container in await engine.find({STATE_LABEL: owner}) if container not in keep]
    await asyncio.gather(*(dispose(engine, container) for container in found))
    left = set(await engine.find({STATE_LABEL: owner})) if found else set()
    return tuple(container for container in found if container not in left)


async def _discard(engine: ContainerEngine, creation: asyncio.Task[str], marker: str) -> None:
    """Remove whatever a launch made, also what a cancelled or unanswered create makes yet (cases 98, 102)."""
    found: set[str] = set()
    try:
        async with asyncio.timeout(_SWEEP_SECONDS):
            await asyncio.wait([creation])
            if not creation.cancelled() and creation.exception() is None:
                found.add(creation.result())
            elif isinstance(creation.exception(), SandboxUnavailableError):
                found.update(await engine.find({_LAUNCH_LABEL: marker}))
    except (SandboxError, TimeoutError) as error:
        _log.error("leftovers of launch %s are not known: %s", marker, error)
    await asyncio.gather(*(dispose(engine, container) for container in found))


def _real(mounts: Mounts) -> Mounts:
    """The same mounts by their real paths; each must be a directory, so that no socket or device is ever mounted itself."""
    places = []
    for place in (mounts.snapshot, mounts.gateway, mounts.session):
        try:
            real = None if place is None else place.resolve(strict=True)
        except OSError as error:
            raise SandboxError(f"cannot mount {place}: {error.strerror or error}") from None
        if real is not None and not real.is_dir():
            raise SandboxError(f"cannot mount {place}: it is no directory")
        places.append(real)
    snapshot, gateway, session = places
    if snapshot is None or gateway is None:
        raise SandboxError("cannot mount nothing")
    return Mounts(snapshot=snapshot, gateway=gateway, session=session)


def _with_mounts(order: LaunchOrder, mounts: Mounts) -> LaunchOrder:
    return replace(order, mounts=mounts)
