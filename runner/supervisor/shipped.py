"""What a supervisor puts into its database as it starts: this host's name, and once the shipped example profiles."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from runner.model import Profile
from runner.profiles import load
from runner.resources import profiles_dir
from runner.store import Connection, Store, meta
from runner.supervisor.agents import publish
from runner.supervisor.beside import note_host

#: Beside the database: examples an operator may change and publish again.
FOLDER = "agents"
_DONE = "shipped_profiles"


async def furnish(store: Store, state_dir: Path, *, public_url: str | None, now: float) -> None:
    """Note by which name contacts reach this host, and publish the examples where that was never done.

    Raises:
        ProfileError: A shipped profile is wrong.
        StoreError: It cannot be stored.
    """
    await store.call(note_host, public_url)
    await publish_shipped(store, state_dir, now=now)


async def publish_shipped(store: Store, state_dir: Path, *, now: float) -> None:
    """Copy the examples with their folders and publish them; once in a state directory's life, so that a retired one stays so.

    Raises:
        ProfileError: A shipped profile is wrong.
        StoreError: It cannot be stored.
    """
    if await store.query(meta.get, _DONE) is not None:
        return
    folder = state_dir / FOLDER
    await asyncio.to_thread(_copy, folder)
    found = [load(path, shipped=True) for path in sorted(folder.glob("*.toml"))]
    await store.call(_publish, found, now)


def _copy(folder: Path) -> None:
    """A copy interrupted halfway is made again; nobody was told of it yet."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(profiles_dir(), folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _publish(conn: Connection, found: list[Profile], now: float) -> None:
    for profile in found:
        publish(conn, profile, now)
    meta.put(conn, _DONE, str(len(found)))
