"""The wall's mutation table: every part of what a container is asked to be is weakened in turn; each must be caught at start.

A weakened container is created behind the launch's back, and the launch must refuse it. The table says who saw it: the
engine's own answer, the first process inside, the host's view. Usage: python -m campaigns.wall [NAME…]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import SandboxError, SandboxMismatchError
from runner.sandbox.base import base_recipe
from runner.sandbox.engine import Attached, Engine, ImageInfo
from runner.sandbox.image import build_image
from runner.sandbox.launch import launch
from runner.sandbox.outside import Outside
from runner.sandbox.proof import ENGINE, INSIDE, OUTSIDE
from runner.sandbox.sentry import Sentry
from runner.sandbox.spec import SandboxSpec
from tests.helpers.sandbox_fixtures import OWNER, an_order, bundled_cli

Weaken = Callable[[dict[str, Any]], None]
SIDES = (ENGINE, INSIDE, OUTSIDE)
#: It did not come as far as being looked at: the engine or the kernel would not have it.
NEVER = "never started"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One thing weakened. `part`: the key of the create request it is about; `seen`: who must see it."""

    part: str
    weaken: Weaken
    seen: tuple[str, ...] = (ENGINE,)


class Weakened:
    """The real engine, but what it creates is another container than was asked for."""

    def __init__(self, engine: Engine, weaken: Weaken) -> None:
        self._engine, self._weaken = engine, weaken

    async def create(self, body: Mapping[str, Any]) -> str:
        """Create another one."""
        weak = deepcopy(dict(body))
        self._weaken(weak)
        return await self._engine.create(weak)

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """See Engine."""
        return await self._engine.inspect(container)

    async def look(self, pid: int, spec: SandboxSpec) -> Outside | Sentry:
        """See Engine."""
        return await self._engine.look(pid, spec)

    async def start(self, container: str) -> None:
        """See Engine."""
        await self._engine.start(container)

    async def attach(self, container: str) -> Attached:
        """See Engine."""
        return await self._engine.attach(container)

    async def kill(self, container: str) -> None:
        """See Engine."""
        await self._engine.kill(container)

    async def remove(self, container: str) -> None:
        """See Engine."""
        await self._engine.remove(container)

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        """See Engine."""
        return await self._engine.find(labels)


def config(key: str, value: Any, *seen: str) -> Mutation:
    """Another value for a key of the request."""
    return Mutation(part=key, weaken=lambda body: body.update({key: value}), seen=(ENGINE, *seen))


def host(key: str, value: Any, *seen: str) -> Mutation:
    """Another value for a key of its hardening half."""
    return Mutation(part=f"HostConfig.{key}", weaken=lambda body: body["HostConfig"].update({key: value}), seen=(ENGINE, *seen))


def memory(size: int, swap: int, *seen: str) -> Mutation:
    """Both memory limits: the engine wants them to fit each other."""
    changes = {"Memory": size, "MemorySwap": swap}
    return Mutation(part="HostConfig.Memory", weaken=lambda body: body["HostConfig"].update(changes), seen=(ENGINE, *seen))


def option(drop: str | tuple[str, ...], *add: str, seen: tuple[str, ...]) -> Mutation:
    """Security options that start with `drop` left out, others put in."""

    def weaken(body: dict[str, Any]) -> None:
        kept = [word for word in body["HostConfig"]["SecurityOpt"] if not drop or not word.startswith(drop)]
        body["HostConfig"]["SecurityOpt"] = [*kept, *add]

    return Mutation(part="HostConfig.SecurityOpt", weaken=weaken, seen=(ENGINE, *seen))


def mount(number: int, changes: Mapping[str, Any], *seen: str) -> Mutation:
    """One of the mounts changed; with no changes, left out."""

    def weaken(body: dict[str, Any]) -> None:
        if changes:
            body["HostConfig"]["Mounts"][number].update(changes)
        else:
            del body["HostConfig"]["Mounts"][number]

    return Mutation(part="HostConfig.Mounts", weaken=weaken, seen=(ENGINE, *seen))


def more_mount(source: str, target: str, *seen: str) -> Mutation:
    """One more mount."""
    more = {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}
    return Mutation(
        part="HostConfig.Mounts", weaken=lambda body: body["HostConfig"]["Mounts"].append(more), seen=(ENGINE, *seen)
    )


def scratch(old: str, new: str, *seen: str) -> Mutation:
    """A mount option of the scratch changed."""

    def weaken(body: dict[str, Any]) -> None:
        places = body["HostConfig"]["Tmpfs"]
        body["HostConfig"]["Tmpfs"] = {place: options.replace(old, new) for place, options in places.items()}

    return Mutation(part="HostConfig.Tmpfs", weaken=weaken, seen=(ENGINE, *seen))


def _on_the_hosts_network(body: dict[str, Any]) -> None:
    body["HostConfig"]["NetworkMode"] = "host"
    body["NetworkDisabled"] = False
    del body["Hostname"]


def _under_the_hosts_name(body: dict[str, Any]) -> None:
    body["HostConfig"]["UTSMode"] = "host"
    del body["Hostname"]


def _one_more_variable(body: dict[str, Any]) -> None:
    body["Env"].append("AWS_SECRET=x")


def _without_its_digest(body: dict[str, Any]) -> None:
    body["Labels"]["runner.spec"] = "sha256:" + "0" * 64


BOTH = (INSIDE, OUTSIDE)
_CORE, _FILES = {"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "nofile", "Soft": 4096, "Hard": 4096}
_DUMPS, _MANY = {"Name": "core", "Soft": 2**30, "Hard": 2**30}, {"Name": "nofile", "Soft": 8192, "Hard": 8192}
_KMSG = {"PathOnHost": "/dev/kmsg", "PathInContainer": "/dev/kmsg", "CgroupPermissions": "rwm"}
MUTATIONS: dict[str, Mutation] = {
    "another image": config("Image", base_recipe().tag),
    "another first process": config("Entrypoint", ["/bin/true"]),
    "another command": config("Cmd", ["sh"]),
    "a secret in the environment": Mutation(part="Env", weaken=_one_more_variable, seen=SIDES),
    "root": config("User", "0:0", *BOTH),
    "another uid": config("User", "10008:10008", *BOTH),
    "another working directory": config("WorkingDir", "/"),
    "another host name": config("Hostname", "elsewhere"),
    "another spec's digest": Mutation(part="Labels", weaken=_without_its_digest),
    "a terminal": config("Tty", True),
    "no stdin": config("OpenStdin", False),
    "stdin for several": config("StdinOnce", False),
    "stdin not attached": config("AttachStdin", False),
    "stdout not attached": config("AttachStdout", False),
    "stderr not attached": config("AttachStderr", False),
    "network not disabled": config("NetworkDisabled", False),
    "a long goodbye": config("StopTimeout", 600),
    "a volume": config("Volumes", {"/data": {}}, *BOTH),
    "a published port": config("ExposedPorts", {"80/tcp": {}}),
    "a health check": config("Healthcheck", {"Test": ["CMD", "true"]}),
    "the host's network": Mutation(part="HostConfig.NetworkMode", weaken=_on_the_hosts_network, seen=SIDES),
    "a writable root": host("ReadonlyRootfs", False, *BOTH),
    "privileged": host("Privileged", True, *BOTH),
    "one capability added": host("CapAdd", ["NET_RAW"], *BOTH),
    "capabilities kept": host("CapDrop", [], *BOTH),
    "one capability kept": host("CapDrop", ["CHOWN", "SYS_CHROOT"], *BOTH),
    # Without capabilities no filter can be set up unless privileges are final.
    "new privileges": option("no-new-privileges", seen=()),
    "new privileges, no seccomp list": option(("no-new-privileges", "seccomp"), "seccomp=unconfined", seen=BOTH),
    "no seccomp list": option("seccomp", "seccomp=unconfined", seen=BOTH),
    "the engine's own seccomp list": option("seccomp", seen=(INSIDE,)),
    "unconfined by AppArmor": option("", "apparmor=unconfined", seen=()),
    "unconfined by SELinux": option("", "label=disable", seen=()),
    "masks taken off": host("MaskedPaths", [], OUTSIDE),
    "system paths writable": host("ReadonlyPaths", [], *BOTH),
    "the host's ipc": host("IpcMode", "host", *BOTH),
    "ipc for others": host("IpcMode", "shareable"),
    "the host's control groups": host("CgroupnsMode", "host", *BOTH),
    "another control group": host("CgroupParent", "/elsewhere"),
    "the host's processes": host("PidMode", "host", *BOTH),
    "the host's name": Mutation(part="HostConfig.UTSMode", weaken=_under_the_hosts_name, seen=SIDES),
    "the host's users": host("UsernsMode", "host"),
    "no init": host("Init", False),
    "restarted": host("RestartPolicy", {"Name": "always", "MaximumRetryCount": 0}),
    "removed by itself": host("AutoRemove", True),
    "logs kept": host("LogConfig", {"Type": "json-file", "Config": {}}),
    "no memory limit": memory(0, 0, *BOTH),
    "more memory": memory(2 * 1024**3, 2 * 1024**3, *BOTH),
    "swap": host("MemorySwap", -1, OUTSIDE),
    "no processor limit": host("NanoCpus", 0, *BOTH),
    "more processors": host("NanoCpus", 2_000_000_000, *BOTH),
    "no process limit": host("PidsLimit", 0, *BOTH),
    "more processes": host("PidsLimit", 4096, *BOTH),
    "never ended for want of memory": host("OomKillDisable", True),
    "ended like any other for want of memory": host("OomScoreAdj", 0, OUTSIDE),
    "more shared memory": host("ShmSize", 1024**3, OUTSIDE),
    "core dumps": host("Ulimits", [_DUMPS, _FILES], *BOTH),
    "more open files": host("Ulimits", [_CORE, _MANY], *BOTH),
    "no scratch": host("Tmpfs", {}, *BOTH),
    "more scratch": host("Tmpfs", {"/home/agent": "rw", "/tmp": "rw", "/opt": "rw"}, *BOTH),
    "scratch that can run files": scratch("noexec", "exec", *BOTH),
    "scratch with set-user-id files": scratch("nosuid", "suid", *BOTH),
    "scratch with devices": scratch("nodev", "dev", *BOTH),
    "scratch without an end": scratch("size=134217728,", "", OUTSIDE),
    "scratch with endless files": scratch("nr_inodes=16384,", "", OUTSIDE),
    "a writable snapshot": mount(0, {"ReadOnly": False}, *BOTH),
    "a writable gateway folder": mount(1, {"ReadOnly": False}, *BOTH),
    "another directory as the snapshot": mount(0, {"Source": "/usr"}, *BOTH),
    "another directory as the gateway": mount(1, {"Source": "/usr"}, *BOTH),
    "no gateway": mount(1, {}, *BOTH),
    "submounts carried in": mount(0, {"BindOptions": {"Propagation": "rprivate", "NonRecursive": False}}),
    "mounts passed on": mount(0, {"BindOptions": {"Propagation": "private", "NonRecursive": True}}),
    "one more mount": more_mount("/usr", "/srv", *BOTH),
    "the engine's socket": more_mount("/var/run/docker.sock", "/run/docker.sock", *BOTH),
    "the host's root": host("Binds", ["/:/host:ro"], *BOTH),
    "a device": host("Devices", [_KMSG], *BOTH),
    "every device by its rule": host("DeviceCgroupRules", ["a *:* rwm"], OUTSIDE),
    "one more group": host("GroupAdd", ["999"], *BOTH),
    "a kernel setting": host("Sysctls", {"kernel.msgmax": "65536"}),
    "a name server": host("Dns", ["192.0.2.1"]),
    "a host's name made up": host("ExtraHosts", ["metadata:192.0.2.1"]),
    "another runtime": host("Runtime", "io.containerd.runc.v2"),
}


@dataclass(frozen=True, kw_only=True)
class Caught:
    """What became of one mutation: who saw what; `ran` when nobody did and it was handed over."""

    by: Mapping[str, tuple[str, ...]]
    never: str = ""
    ran: bool = False

    def fulfils(self, mutation: Mutation) -> bool:
        """Whether it was caught by all who must see it."""
        return not self.ran and (bool(self.never) or all(self.by[side] for side in mutation.seen))


async def try_mutation(mutation: Mutation, *, engine: Engine, image: ImageInfo, folder: Path) -> Caught:
    """Launch one weakened container, which must not be handed over."""
    order = an_order(folder, image, runtime="runc")

    async def nobody(_: str) -> None:
        return

    try:
        box = await launch(Weakened(engine, mutation.weaken), order, on_created=nobody)
    except SandboxMismatchError as error:
        said = [word.partition(": ") for word in (error.details or "").split("; ")]
        found = {side: tuple(what for who, _, what in said if who == side) for side in SIDES}
        return Caught(by=found, never="" if any(found.values()) else error.brief)
    except SandboxError as error:
        return Caught(by=dict.fromkeys(SIDES, ()), never=error.brief)
    await box.destroy()
    return Caught(by=dict.fromkeys(SIDES, ()), ran=True)


async def _all(names: Sequence[str]) -> dict[str, Caught]:
    found: dict[str, Caught] = {}
    with tempfile.TemporaryDirectory(prefix="wall-") as place:
        async with Engine() as engine:
            image = await build_image(engine, base=None, cli=bundled_cli(), progress=lambda _: None)
            for name in names:
                folder = Path(place) / str(len(found))
                folder.mkdir()
                found[name] = await try_mutation(MUTATIONS[name], engine=engine, image=image, folder=folder)
            left = await engine.find({"runner.state": OWNER})
    if left:
        raise SystemExit(f"containers were left: {left}")
    return found


def main(names: Sequence[str]) -> int:
    """Print the table; 1 when anything was handed over or not seen by all who must see it."""
    names = names or list(MUTATIONS)
    table = asyncio.run(_all(names))
    print(f"{'weakened':36} {'part':26} {'engine':>6} {'inside':>6} {'host':>6}  caught")
    bad = 0
    for name, caught in table.items():
        mutation = MUTATIONS[name]
        fine = caught.fulfils(mutation)
        bad += not fine
        seen = " ".join(f"{'yes' if caught.by[side] else '-':>6}" for side in SIDES)
        how = NEVER if caught.never else "yes" if fine else "NO"
        print(f"{name:36} {mutation.part:26} {seen}  {how}")
    print(f"\n{len(table) - bad} of {len(table)} weakened walls were caught at the start")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
