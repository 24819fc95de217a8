"""What stands around one script on the host: an agent's directory with traps in it, a secret, sockets, what must not change.

Everything is in a folder of its own. The traps are what a read-only mount of the directory would let through (case 107).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from runner.sandbox.launch import Mounts
from runner.sandbox.snapshot import take_snapshot

#: Settings of the host's kernel that a script may try to change.
_SETTINGS = (
    *("kernel/core_pattern", "kernel/hostname", "kernel/domainname", "kernel/modprobe", "kernel/panic", "fs/suid_dumpable"),
    *("kernel/randomize_va_space", "vm/overcommit_memory", "vm/mmap_min_addr", "kernel/sysrq", "user/max_user_namespaces"),
)


class Scene:
    """The host's side of one script."""

    def __init__(self, folder: Path, *, uid: int, model: str = "none") -> None:
        """Not set yet; see `set_up`."""
        self.folder = folder
        self.uid = uid
        self.model = model
        self.token = secrets.token_hex(16)
        self.abstract = f"runner-escape-{secrets.token_hex(8)}"
        self.visits: list[str] = []
        self._servers: list[asyncio.Server] = []
        self._before: Mapping[str, str] = {}
        self._port = 0

    @property
    def mounts(self) -> Mounts:
        """What the container sees."""
        return Mounts(snapshot=self.folder / "snapshot", gateway=self.folder / "gateway")

    @property
    def words(self) -> tuple[str, ...]:
        """What the script is told of the host, so that it has something to look for."""
        return self.abstract, str(self._port), str(self.folder / "outside"), str(os.getpid()), self.model

    async def set_up(self) -> None:
        """Lay the folders, the traps and the sockets."""
        for name in ("agent", "outside"):
            (self.folder / name).mkdir(mode=0o755)
        await self._listen("a planted socket", path=str(self.folder / "agent/door.sock"))
        await self._listen("a socket of the host", path=str(self.folder / "outside/host.sock"))
        hidden = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        hidden.bind(f"\0{self.abstract}")
        await self._listen("an abstract socket", sock=hidden)
        self._port = await self._listen("a port of the host", host="127.0.0.1")
        await asyncio.to_thread(self._lay)
        self._before = await asyncio.to_thread(self._state)

    def _lay(self) -> None:
        agent, secret = self.folder / "agent", self.folder / "outside/secret.txt"
        secret.write_text(self.token)
        (agent / "in.txt").write_text("what the agent may read\n")
        os.link(secret, agent / "hard.txt")
        (agent / "soft.txt").symlink_to("../outside/secret.txt")
        (agent / "root").symlink_to("/")
        os.mkfifo(agent / "pipe")
        snapshot = self.folder / "snapshot"
        take_snapshot(agent, snapshot, read=["**"], hide=[], max_bytes=2**20, max_files=100, allow_hard_links=False)

    async def _listen(self, what: str, **where: object) -> int:
        async def visited(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.visits.append(what)
            writer.close()

        if "host" in where:
            server = await asyncio.start_server(visited, str(where["host"]), 0)
            self._servers.append(server)
            return int(server.sockets[0].getsockname()[1])
        self._servers.append(await asyncio.start_unix_server(visited, **where))  # type: ignore[arg-type]
        return 0

    async def differences(self) -> list[str]:
        """What is not as it was before the script ran, once its container is gone."""
        after = await asyncio.to_thread(self._state)
        found = [f"{what} has changed" for what in sorted({*self._before, *after}) if self._before.get(what) != after.get(what)]
        found += [f"{what} was connected to" for what in sorted(set(self.visits))]
        return found + [f"process {pid} is left" for pid in await asyncio.to_thread(self._left)]

    async def clear(self) -> None:
        """Close the sockets."""
        for server in self._servers:
            server.close()
            await server.wait_closed()

    def _left(self) -> list[int]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.uids().real == self.uid:
                    found.append(process.pid)
        return found

    def _state(self) -> dict[str, str]:
        state = {f"{name}/": _digest(self.folder / name) for name in ("agent", "outside", "snapshot", "gateway")}
        for name in _SETTINGS:
            with contextlib.suppress(OSError):
                state[f"/proc/sys/{name}"] = Path("/proc/sys", name).read_text()
        for place in Path("/sys/fs/cgroup").glob("*/release_agent"):
            with contextlib.suppress(OSError):
                state[str(place)] = place.read_text()
        return state


def _digest(folder: Path) -> str:
    """Everything beneath a folder: names, kinds, modes, owners, bytes; no link followed, and no pipe read."""
    digest = hashlib.sha256()
    for path in _walk(folder):
        facts = path.lstat()
        digest.update(
            f"{path.relative_to(folder)} {facts.st_mode:o} {facts.st_uid} {facts.st_nlink} {facts.st_mtime_ns}\n".encode()
        )
        if stat.S_ISREG(facts.st_mode):
            digest.update(path.read_bytes())
        elif stat.S_ISLNK(facts.st_mode):
            digest.update(os.fsencode(path.readlink()))
    return digest.hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        yield from (Path(root) / name for name in sorted([*folders, *files]))
