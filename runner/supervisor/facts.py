"""Gathers what `health` judges: one look at everything, with or without a supervisor.

Changes nothing, and asks no other machine.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import pwd
import shutil
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from runner.agent import versions
from runner.errors import RunnerError, SandboxError
from runner.gateway import make_upstream
from runner.lifecycle import RunState
from runner.model import JsonObject
from runner.sandbox.engine import Engine
from runner.sandbox.image import image_info
from runner.sandbox.launch import STATE_LABEL
from runner.sandbox.reaping import Finder
from runner.sandbox.spec import FIRST_UID, LAST_UID
from runner.settings import Settings, private_directory
from runner.store import Look, look
from runner.supervisor.health import Container, EngineFacts, Facts, Trouble
from runner.supervisor.lock import holder
from runner.supervisor.measures import room_of

_BUSY = (RunState.STARTING, RunState.RUNNING, RunState.HELD)
#: Seconds for a model upstream on this machine to take a connection.
_KNOCK = 2.0
#: Seconds in which a container that was made is started, however slow the engine: its call has given up long before.
_STARTS = 120.0


async def gather(settings: Settings, engine: Engine, *, owner: str, status: JsonObject | None) -> Facts:
    """Look at everything.

    Args:
        settings: Checked settings.
        engine: Asked with its own deadline.
        owner: The label of this state directory's containers.
        status: What the supervisor says of itself; None when it does not answer.
    """
    state_dir = settings.state_dir
    state = await asyncio.to_thread(_state, state_dir)
    database = Look("absent") if state is not None else await asyncio.to_thread(_database, settings)
    _, cli_version = versions()
    return Facts(
        supervisor=None if state is not None else _holder(state_dir),
        answers=status is not None,
        busy=_busy(status),
        state_dir=state_dir,
        state=state,
        exists=state_dir.exists(),
        room=_room(_nearest(state_dir)) or 0,
        memory=psutil.virtual_memory().available,
        short=room_of(settings).short(),
        database=database if isinstance(database, Trouble) else database.state,
        agents=0 if isinstance(database, Trouble) else database.agents,
        users=tuple(sorted((user.pw_uid, user.pw_name) for user in pwd.getpwall() if FIRST_UID <= user.pw_uid <= LAST_UID)),
        model=await asyncio.to_thread(_model, settings),
        engine=await _engine(engine, owner),
        runtime=settings.runtime,
        cli_version=cli_version,
    )


def _trouble(error: RunnerError) -> Trouble:
    return Trouble(error.brief, error.resolution)


def _state(path: Path) -> Trouble | None:
    """What is wrong with the state directory, by the rule that a start goes by; it is not made here."""
    if not path.exists() and not path.is_symlink():
        return None
    try:
        private_directory(path)
    except RunnerError as error:
        return _trouble(error)
    return None


def _holder(path: Path) -> int | None:
    """A lock that cannot be read is taken for somebody's."""
    try:
        return holder(path)
    except RunnerError:
        return 0


def _database(settings: Settings) -> Look | Trouble:
    try:
        return look(settings.database_url.get_secret_value())
    except RunnerError as error:
        return _trouble(error)


def _model(settings: Settings) -> Trouble | str:
    try:
        make_upstream(settings.model, **settings.credentials())
    except RunnerError as error:
        return _trouble(error)
    return _local_upstream(settings.model) or settings.model_kind


def _local_upstream(model: str) -> Trouble | None:
    """An upstream on this machine is knocked at; others are left alone."""
    place = urlsplit(model)
    if place.scheme not in {"http", "https"} or place.hostname is None or not _is_loopback(place.hostname):
        return None
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname, port), timeout=_KNOCK).close()
    except OSError as error:
        found = f"nobody answers at {place.hostname}:{port}: {error.strerror or error}"
        return Trouble(found, "start it, or change RUNNER_MODEL")
    return None


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


async def _engine(engine: Engine, owner: str) -> EngineFacts | Trouble:
    try:
        info, image = await engine.info(), await image_info(engine)
        found = await containers(engine, owner)
    except SandboxError as error:
        return _trouble(error)
    return EngineFacts(
        info=info,
        image=image,
        containers=found,
        room=_room(Path(info.root)) if info.root.startswith("/") else None,
    )


async def containers(engine: Finder, owner: str) -> tuple[Container, ...]:
    """Those of this state directory; looked at side by side, since each that hangs takes its whole time to say so.

    Raises:
        SandboxError: The engine does not say which there are.
    """
    found = await asyncio.gather(*(_container(engine, one) for one in await engine.find({STATE_LABEL: owner})))
    return tuple(one for one in found if one is not None)


async def _container(engine: Finder, container: str) -> Container | None:
    """None when it has gone meanwhile; one that cannot even be looked at hangs, and so does one that is never started."""
    try:
        facts = await engine.inspect(container)
    except SandboxError:
        return Container(container, "dead")
    if facts is None:
        return None
    state = str((facts.get("State") or {}).get("Status", ""))
    return Container(container, "stuck" if state == "created" and _age(str(facts.get("Created", ""))) > _STARTS else state)


def _age(made: str) -> float:
    """Seconds since a moment as the engine words it; 0 where it does not say."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(made)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def _busy(status: JsonObject | None) -> int:
    counts = status.get("runs") if status is not None else None
    if not isinstance(counts, dict):
        return 0
    return sum(count for state in _BUSY if isinstance(count := counts.get(state.value), int))


def _nearest(path: Path) -> Path:
    """The directory itself, or the one that it would be made in."""
    return next(place for place in (path, *path.parents) if place.exists())


def _room(path: Path) -> int | None:
    try:
        return shutil.disk_usage(os.fspath(path)).free
    except OSError:
        return None
