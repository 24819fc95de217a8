"""An engine in memory: containers are rows, their stdio is a socket pair, their probe says what the body asked for.

`faults` makes a step fail, `tamper` and `tamper_report` make the engine or the container lie, `behaviour` is what the agent
does once the probe has reported. The contract tests hold it against the real engine.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.errors import SandboxError
from runner.model import Digest, Json, JsonObject
from runner.sandbox.engine import Attached, ImageInfo
from runner.sandbox.kernel import MountLine
from runner.sandbox.outside import Limits, Outside, Place
from runner.sandbox.probe import SPACES
from runner.sandbox.proof import GO
from runner.sandbox.spec import HOME, INODES, OOM_SCORE, SHARED, TEMPORARY, SandboxSpec, create_kwargs

FAKE_IMAGE = ImageInfo(
    id="sha256:" + "1" * 64,
    tag="runner-sandbox:latest",
    content_digest="sha256:" + "2" * 64,
    size=1,
    cli_version="0.0.0",
    base="fake",
    definitions="{}",
)
Behaviour = Callable[["FakeContainer"], Awaitable[None]]


def frame(stream: int, data: bytes) -> bytes:
    """The engine's framing: 1 is stdout, 2 is stderr."""
    return bytes((stream, 0, 0, 0)) + len(data).to_bytes(4, "big") + data


@dataclass(kw_only=True)
class FakeContainer:
    """One container and its side of the stdio."""

    id: str
    body: dict[str, Any]
    status: str = "created"
    exit_code: int = 0
    task: asyncio.Task[None] | None = None
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None
    received: bytearray = field(default_factory=bytearray)

    async def out(self, data: bytes) -> None:
        """Say something on stdout."""
        await self.raw(frame(1, data))

    async def err(self, data: bytes) -> None:
        """Say something on stderr."""
        await self.raw(frame(2, data))

    async def raw(self, data: bytes) -> None:
        """Bytes as the engine would send them."""
        if self.writer is not None:
            self.writer.write(data)
            await self.writer.drain()

    async def read(self, count: int = 65536) -> bytes:
        """What was sent to stdin; empty at its end."""
        if self.reader is None:
            return b""
        data = await self.reader.read(count)
        self.received += data
        return data

    def end(self, code: int) -> None:
        """Stop running."""
        self.status, self.exit_code = "exited", code
        if self.writer is not None:
            self.writer.close()
            self.writer = None


async def echo(container: FakeContainer) -> None:
    """The usual behaviour: stdin to stdout."""
    while data := await container.read():
        await container.out(data)


class FakeEngine:
    """See the module."""

    def __init__(self, *, behaviour: Behaviour = echo) -> None:
        self.behaviour = behaviour
        self.containers: dict[str, FakeContainer] = {}
        self.faults: dict[str, BaseException] = {}
        self.calls: list[str] = []
        self.pauses: dict[str, asyncio.Event] = {}
        self.tamper: Callable[[dict[str, Any]], None] = lambda _: None
        self.tamper_report: Callable[[JsonObject], None] = lambda _: None
        self.tamper_look: Callable[[Outside], Outside] = lambda seen: seen
        self._made = 0

    async def create(self, body: Mapping[str, Any]) -> str:
        """A row."""
        await self._step("create")
        self._made += 1
        name = f"{self._made:064x}"
        self.containers[name] = FakeContainer(id=name, body=deepcopy(dict(body)))
        return name

    async def attach(self, container: str) -> Attached:
        """One end of a socket pair."""
        await self._step("attach")
        held = self._get(container)
        ours, theirs = socket.socketpair()
        held.reader, held.writer = await asyncio.open_connection(sock=theirs)
        return Attached(*await asyncio.open_connection(sock=ours))

    async def start(self, container: str) -> None:
        """Report, then behave."""
        await self._step("start")
        held = self._get(container)
        held.status = "running"
        held.task = asyncio.create_task(self._run(held))

    async def pause(self, container: str) -> None:
        """A row's status."""
        await self._step("pause")
        self._get(container).status = "paused"

    async def unpause(self, container: str) -> None:
        """A row's status."""
        await self._step("unpause")
        self._get(container).status = "running"

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """The body, as the engine describes it."""
        await self._step("inspect")
        held = self.containers.get(container)
        if held is None:
            return None
        described = describe(held)
        described["State"]["Pid"] = list(self.containers).index(container) + 1
        self.tamper(described)
        return described

    async def look(self, pid: int, spec: SandboxSpec) -> Outside:
        """What a host would see of a container that is what its body asks."""
        await self._step("look")
        return self.tamper_look(a_look(list(self.containers)[pid - 1], spec))

    async def kill(self, container: str) -> None:
        """Stop it."""
        await self._step("kill")
        if (held := self.containers.get(container)) is not None:
            await self._stop(held, 137)

    async def remove(self, container: str) -> None:
        """Stop it and forget it."""
        await self._step("remove")
        if (held := self.containers.pop(container, None)) is not None:
            await self._stop(held, 137)

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        """By labels; None fits any value."""
        await self._step("find")
        return tuple(
            name
            for name, held in self.containers.items()
            if all(key in held.body["Labels"] and value in {None, held.body["Labels"][key]} for key, value in labels.items())
        )

    async def _step(self, name: str) -> None:
        self.calls.append(name)
        if name in self.pauses:
            await self.pauses[name].wait()
        if name in self.faults:
            raise self.faults[name]

    def _get(self, container: str) -> FakeContainer:
        if container not in self.containers:
            raise SandboxError("no such container")
        return self.containers[container]

    async def _run(self, held: FakeContainer) -> None:
        report = a_report(held.body)
        self.tamper_report(report)
        try:
            await held.out(json.dumps(report).encode() + b"\n")
            if held.reader is None or await held.reader.readline() != GO:
                held.end(71)
                return
            await self.behaviour(held)
        except OSError:
            held.end(141)
            return
        held.end(0)

    async def _stop(self, held: FakeContainer, code: int) -> None:
        if held.task is not None and not held.task.done():
            held.task.cancel()
            await asyncio.wait([held.task])
        if held.status != "exited":
            held.end(code)


def describe(held: FakeContainer) -> dict[str, Any]:
    """What the engine answers to inspect."""
    body = deepcopy(held.body)
    host = body.pop("HostConfig")
    image = body["Image"]
    return {
        "Id": held.id,
        "Image": image,
        "State": {"Status": held.status, "Running": held.status in {"running", "paused"}, "ExitCode": held.exit_code},
        "AppArmorProfile": "",
        "ExecIDs": None,
        "Config": {"Volumes": None, **body},
        "HostConfig": {
            "Runtime": "runc",
            "MaskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
            "ReadonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"],
            "Binds": None,
            "Devices": None,
            **host,
        },
        "Mounts": [
            {"Type": "bind", "Source": mount["Source"], "Destination": mount["Target"], "RW": not mount["ReadOnly"]}
            for mount in host["Mounts"]
        ],
        "NetworkSettings": {"Networks": {}, "Ports": {}},
    }


def a_report(body: Mapping[str, Any]) -> JsonObject:
    """The probe's report of a container that is what its body asks."""
    host = body["HostConfig"]
    uid = body["User"].split(":")[0]
    zero = "0" * 16
    places: dict[str, Json] = {"/run/session": "?"}
    for mount in host["Mounts"]:
        facts = Path(mount["Source"]).stat()
        places[mount["Target"]] = f"{facts.st_dev}:{facts.st_ino}"
    mounts: list[Json] = [["/", "ro", "overlay"], ["/proc", "rw,nosuid,nodev,noexec", "proc"], ["/dev", "rw,nosuid", "tmpfs"]]
    mounts += [["/sys", "ro,nosuid,nodev,noexec", "sysfs"], ["/proc/keys", "rw,nosuid", "tmpfs"]]
    mounts += [[f"/proc/{name}", "ro,nosuid,nodev,noexec", "proc"] for name in ("bus", "fs", "irq", "sys")]
    mounts += [["/dev/shm", "rw,nosuid,nodev,noexec", "tmpfs"]]
    mounts += [[target, "rw,nosuid,nodev,noexec", "tmpfs"] for target in host["Tmpfs"]]
    mounts += [[mount["Target"], "ro", "ext4"] for mount in host["Mounts"]]
    names: list[Json] = [entry.split("=")[0] for entry in body["Env"]]
    return {
        "probe": 1,
        "status": {
            "Uid": [uid] * 4,
            "Gid": [uid] * 4,
            "Groups": [uid],
            **{name: [zero] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
            "NoNewPrivs": ["1"],
            "Seccomp": ["2"],
            "Seccomp_filters": ["1"],
        },
        "mounts": mounts,
        "devices": ["lo"],
        "nodes": ["null", "zero"],
        "routes": 0,
        "names": [*names, "HOSTNAME"],
        "canary": "refused",
        "places": places,
        "spaces": {name: "1" for name in SPACES},
        "limits": {
            "memory": str(host["Memory"]),
            "pids": str(host["PidsLimit"]),
            "cpu": f"{host['NanoCpus'] // 10_000}/100000",
            "core": "0",
            "nofile": "4096",
        },
    }


def a_look(container: str, spec: SandboxSpec) -> Outside:
    """What the host sees of a container that is what its spec asks."""
    report: Any = a_report(create_kwargs(spec))
    places = {str(mount.target): ("8:1", str(mount.source)) for mount in spec.mounts}
    sizes = {str(HOME): spec.home_bytes, str(TEMPORARY): spec.temporary_bytes, SHARED: spec.shared_bytes}
    mounts = [
        MountLine(
            device=places.get(target, ("0:1", "/"))[0],
            root=places.get(target, ("0:1", "/"))[1],
            target=target,
            access=access,
            kind=kind,
            options=frozenset({f"size={sizes[target] // 1024}k", f"nr_inodes={INODES}"} if target in sizes else ()),
        )
        for target, access, kind in report["mounts"]
    ]
    return Outside(
        status=report["status"],
        id=spec.uid,
        mounts=tuple(mounts),
        places={name: Place(at=at, source=report["places"][name], seen=report["places"][name]) for name, at in places.items()},
        guarded=frozenset({"/proc/keys", "/proc/sys"}),
        devices=frozenset({"lo"}),
        groups=frozenset({f"/docker/{container}"}),
        limits=Limits(
            memory=str(spec.memory),
            swap=str(spec.memory),
            pids=str(spec.pids),
            cpu=(str(int(spec.cpus * 100_000)), "100000"),
            rules=("c *:* m", "c 1:3 rwm"),
        ),
        resources={"Max core file size": ("0", "0"), "Max open files": (str(spec.nofile), str(spec.nofile))},
        oom=str(OOM_SCORE),
        names=frozenset({*spec.environment, "HOSTNAME"}),
        spaces={name: (f"{name}:[1]", f"{name}:[2]") for name in SPACES},
        label=None,
    )


def a_digest(symbol: str = "0") -> Digest:
    """Any digest."""
    return Digest("sha256:" + symbol * 64)
