"""What the supervisor sees of a container under gVisor, held against the spec (M2).

Pure; `looking` does the seeing. The agent's processes are none of the host's: the host runs a process that is their kernel, one
that serves it files, and their helpers. These are looked at, and whatever is no such process is a difference; so a container
that runs on the host's own kernel under gVisor's name is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runner.model import WORKSPACE
from runner.sandbox.confined import Confined
from runner.sandbox.kernel import MountLine
from runner.sandbox.kernels import DIFFERENCES
from runner.sandbox.outside import Limits, limit_faults
from runner.sandbox.probe import ENGINE_FILES

#: Namespaces that its kernel's process never shares with the supervisor; the others it may.
APART = ("ipc", "mnt", "net", "user", "uts")
_ROOT = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beneath:
    """One process in the container's control group. A `server` has places of the host mounted, any other an empty root."""

    status: Mapping[str, list[str]]
    mounts: tuple[MountLine, ...]

    @property
    def server(self) -> bool:
        """Whether it serves files."""
        return any(mount.target != "/" for mount in self.mounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentry:
    """One look at a container from the host."""

    processes: tuple[Beneath, ...]  #: all in its control group
    places: Mapping[str, tuple[str, str] | None]  #: where each mount must lead: device and place in its file system
    groups: frozenset[str]
    limits: Limits
    devices: frozenset[str]
    oom: str
    spaces: Mapping[str, tuple[str, str]] | None  #: its kernel's process's and ours; None when this user may not look

    @property
    def unseen(self) -> tuple[str, ...]:
        """What goes on record with the proof: the differences from Linux, and what only root could have looked at."""
        return (*DIFFERENCES, *(() if self.spaces is not None else ("namespaces",)))


def sentry_faults(spec: Confined, seen: Sentry, *, container: str) -> tuple[str, ...]:
    """Every difference between what was asked and what the host sees."""
    return tuple(_faults(spec, seen, container))


def _faults(spec: Confined, seen: Sentry, container: str) -> Iterator[str]:
    servers = [one for one in seen.processes if one.server]
    kernels = [one for one in seen.processes if not one.server]
    if not kernels:
        yield "no process is the container's kernel"
    if len(servers) != 1:
        yield f"file servers (times {len(servers)})"
    for one in kernels:
        yield from _kernel(one)
    for one in servers:
        yield from _server(spec, one, seen.places)
    yield from _final(seen.processes)
    if not any(container in path for path in seen.groups):
        yield "control group"
    if seen.devices != {"lo"}:
        yield "network device"
    yield from limit_faults(spec, seen.limits, oom=seen.oom)
    if seen.spaces is not None:
        yield from (f"namespace {name}" for name in APART if len(set(seen.spaces[name])) == 1)


def _final(processes: tuple[Beneath, ...]) -> Iterator[str]:
    """Each has a filter of its own and can get no more power."""
    for name, wanted in {"NoNewPrivs": ["1"], "Seccomp": ["2"]}.items():
        if any(one.status.get(name) != wanted for one in processes):
            yield f"beneath: {name}"


def _kernel(one: Beneath) -> Iterator[str]:
    """Nobody's, with nothing of the host but an empty root."""
    if _ROOT in one.status.get("Uid", [_ROOT]) or _ROOT in one.status.get("Gid", [_ROOT]):
        yield "beneath: root"
    if [(mount.target, mount.access.split(",")[0], mount.kind) for mount in one.mounts] != [("/", "ro", "tmpfs")]:
        yield "beneath: mounts"


def _server(spec: Confined, one: Beneath, places: Mapping[str, tuple[str, str] | None]) -> Iterator[str]:
    """What it serves is what was asked for, by device and place, and the image's root read-only."""
    asked = {str(mount.target) for mount in spec.mounts}
    found = [mount.target for mount in one.mounts]
    yield from (f"beneath: mount {target}" for target in sorted(set(found) - asked - ENGINE_FILES - {"/"}))
    yield from (
        f"beneath: mount {target} (times {found.count(target)})" for target in sorted({"/", *asked}) if found.count(target) != 1
    )
    if any(mount.target == "/" and mount.access.split(",")[0] != "ro" for mount in one.mounts):
        yield "beneath: mount /"
    leads = {mount.target: (mount.device, mount.root) for mount in one.mounts}
    if spec.mounts and str(WORKSPACE) not in places:
        yield f"place {WORKSPACE}"
    yield from (f"place {target}" for target, at in places.items() if at is None or leads.get(target) != at)
