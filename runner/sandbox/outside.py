"""What the supervisor itself sees of a container's first process, held against the spec (M2).

Pure; `looking` does the seeing. The container's own report could be forged by whoever got in before it; this cannot. What
this user may not see is named in `unseen`, and only what needs root's eyes may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runner.model import WORKSPACE
from runner.sandbox.confined import Confined
from runner.sandbox.kernel import MountLine, cpu_is, size_is
from runner.sandbox.probe import ADDED_NAMES, SPACES, mount_faults, status_faults
from runner.sandbox.spec import INODES, OOM_SCORE, SHARED

#: Device rules that the engine gives every container: null, zero, full, random, urandom, terminals, and tun, without a node.
_RULES = frozenset(
    {
        "b *:* m",
        "c *:* m",
        *(f"c {number} rwm" for number in ("1:3", "1:5", "1:7", "1:8", "1:9", "5:0", "5:1", "5:2", "10:200", "136:*")),
    }
)
_LO = frozenset({"lo"})
#: In the mount options of a scratch.
_SIZE = re.compile(r"(?<=size=)\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A mounted host directory: where its mount must lead, and which file it is on either side."""

    at: tuple[str, str] | None  #: device and place in its file system
    source: str  #: "device:inode" on the host
    seen: str | None  #: the same through the container's root; None when this user may not look


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the control groups say; None where no such file is to be seen."""

    memory: str | None
    swap: str | None  #: version 2: of swap alone, "0" is none; version 1: with memory, the same as memory is none
    pids: str | None
    cpu: tuple[str, str] | None  #: quota and period
    rules: tuple[str, ...] | None = None  #: version 1's device rules; version 2 has none to read


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """One look at a container from the host."""

    status: Mapping[str, list[str]]
    id: int | None  #: the host's number of the agent's uid
    mounts: tuple[MountLine, ...]
    places: Mapping[str, Place]
    guarded: frozenset[str]  #: paths of this kernel that must be masked or read-only in there
    devices: frozenset[str]
    groups: frozenset[str]  #: control group paths
    limits: Limits
    resources: Mapping[str, tuple[str, str]]
    oom: str
    names: frozenset[str] | None  #: of the environment
    spaces: Mapping[str, tuple[str, str]] | None  #: theirs and ours
    label: str | None  #: the security module's word; None when the kernel has none
    unseen: tuple[str, ...] = field(default=())


def outside_faults(spec: Confined, seen: Outside, *, container: str) -> tuple[str, ...]:
    """Every difference between what was asked and what the host sees."""
    return tuple(_faults(spec, seen, container))


def _faults(spec: Confined, seen: Outside, container: str) -> Iterator[str]:
    yield from ("uid map",) if seen.id is None else status_faults(seen.status, uid=seen.id)
    yield from mount_faults(spec, [mount.seen() for mount in seen.mounts], remapped=seen.id != spec.uid)
    yield from (f"device {mount.target}" for mount in seen.mounts if mount.kind == "devtmpfs" and not _harmless(mount))
    yield from _sizes(spec, seen)
    yield from (f"mount {path} (times 0)" for path in sorted(seen.guarded - {mount.target for mount in seen.mounts}))
    yield from _places(spec, seen)
    if seen.devices != _LO:
        yield "network device"
    if not any(container in path for path in seen.groups):
        yield "control group"
    yield from _limits(spec, seen)
    if seen.names is not None and seen.names - ADDED_NAMES != set(spec.environment):
        yield "environment"
    if seen.spaces is not None:
        yield from (f"namespace {name}" for name in SPACES if len(set(seen.spaces[name])) == 1)
    if seen.label is not None and seen.label.split(" ")[0] in {"", "unconfined"}:
        yield "security module"


def _harmless(mount: MountLine) -> bool:
    """A device of the host that is mounted is the one its name says; a mask is /dev/null."""
    return mount.root == (mount.target.removeprefix("/dev") if mount.target.startswith("/dev/") else "/null")


def _sizes(spec: Confined, seen: Outside) -> Iterator[str]:
    scratch = {place: int(_SIZE.findall(options)[0]) for place, options in spec.tmpfs().items()}
    asked = {**scratch, SHARED: spec.shared_bytes}
    for mount in seen.mounts:
        wanted = asked.get(mount.target)
        if wanted is not None and not size_is(wanted, mount.options):
            yield f"size {mount.target}"
        if mount.target in scratch and f"nr_inodes={INODES}" not in mount.options:
            yield f"inodes {mount.target}"


def _places(spec: Confined, seen: Outside) -> Iterator[str]:
    mounted = {mount.target: (mount.device, mount.root) for mount in seen.mounts}
    if spec.mounts and str(WORKSPACE) not in seen.places:
        yield f"place {WORKSPACE}"
    for target, place in seen.places.items():
        if place.at is None or mounted.get(target) != place.at or place.seen not in {None, place.source}:
            yield f"place {target}"


def _limits(spec: Confined, seen: Outside) -> Iterator[str]:
    yield from limit_faults(spec, seen.limits, oom=seen.oom)
    if seen.limits.rules is not None and not set(seen.limits.rules) <= _RULES:
        yield "device rules"
    resources = {"core": ("Max core file size", "0"), "nofile": ("Max open files", str(spec.nofile))}
    yield from (f"limit {name}" for name, (key, wanted) in resources.items() if seen.resources.get(key) != (wanted, wanted))


def limit_faults(spec: Confined, limits: Limits, *, oom: str) -> Iterator[str]:
    """What a container's control groups say otherwise than asked."""
    asked = {"memory": (spec.memory, limits.memory), "pids": (spec.pids, limits.pids), "oom score": (OOM_SCORE, oom)}
    yield from (f"limit {name}" for name, (wanted, found) in asked.items() if found != str(wanted))
    # A kernel without swap accounting has no such file; without swap there is nothing to account for.
    if limits.swap not in {None, "0", str(spec.memory)}:
        yield "limit swap"
    if not cpu_is(spec.cpus, limits.cpu):
        yield "limit cpu"
