"""Whose kernel a container's processes run on, what that kernel tells of itself, and what the list of calls has to be for it.

Pure. Every difference from Linux is named here, and holds for gVisor alone: nothing is weaker under a runtime that shares the
host's kernel, and a container that only calls itself gVisor's is refused by what the host sees of it (`sentry`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

#: Runtimes whose containers run on the host's own kernel, which can then be asked about them; None is the engine's default.
SHARING = frozenset({None, "runc", "crun"})
#: gVisor's runtime: this name, or it and something behind a dash, as for one more set of options.
_GVISOR = "runsc"

#: Options that gVisor's must be started with, each by any of its names.
_NEEDED = (("oci-seccomp",), ("fsgofer-host-uds", "host-uds"))

_THREADS = 384

#: Mount flags of everything that can be written.
SAFE = frozenset({"nosuid", "nodev", "noexec"})
#: Device nodes of every container: what they lead to is the kernel's own and holds nothing of the host.
NODES = frozenset({"console", "full", "null", "ptmx", "pts/ptmx", "random", "tty", "urandom", "zero"})


class Kernel(Enum):
    """Whose kernel it is."""

    HOST = "host"
    GVISOR = "gvisor"
    OTHER = "other"


def kernel_of(runtime: str | None) -> Kernel:
    """The kernel that a runtime brings, by its name."""
    if runtime in SHARING:
        return Kernel.HOST
    return Kernel.GVISOR if runtime is not None and runtime.partition("-")[0] == _GVISOR else Kernel.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a kernel shows. What it is silent about may be missing from a report; if it is told, it must be right."""

    silent: frozenset[str] = frozenset()  #: words of a status, limits, namespaces
    flags: frozenset[str] = SAFE  #: of a mount
    nodes: frozenset[str] = NODES  #: that it makes in every container

    def lacks(self, name: str, found: object) -> bool:
        """Whether something is missing that this kernel does not tell."""
        return name in self.silent and found in (None, "", "?")


_LINUX = Shown()
_SENTRY = Shown(
    silent=frozenset({"NoNewPrivs", "CapAmb", "memory", "pids", "cpu", "cgroup", "ipc", "mnt", "uts"}),
    flags=frozenset({"noexec"}),
    nodes=NODES | {"fuse", "net/tun"},
)

#: What gVisor does not show or do as Linux does, and what stands in for it.
DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "no-new-privileges and the ambient set are not in its status": (
            "its kernel never raises privileges; every process that is it has the flag on the host"
        ),
        "nosuid and nodev are not in its list of mounts": "no-new-privileges as above; no call that makes a device is let in",
        "control groups are not to be seen from inside": "memory, processes, processors and swap are read on the host",
        "it makes up /dev/fuse and /dev/net/tun": "both are its own, and lead to nothing of the host",
        "namespaces of its own have no numbers": "those of the process that is its kernel are compared on the host",
        "numbers of devices and files are its own": (
            "where the mount of each directory leads is read from the process that serves its files"
        ),
        "`clone3` is let in": (
            "it answers a refused call with EPERM, which libc does not take for not there; no call beneath it reaches the host"
        ),
        "384 more processes than the profile's limit": (
            "its own threads and helpers count, and running into the limit ends all of it: 7 of 8 busy shells, with 128"
        ),
        "no device rules are set for it": (
            "the process that is its kernel has an empty root without a device, and a filter of its own"
        ),
    }
)


def lacking(kernel: Kernel, options: Sequence[str]) -> str:
    """Which option a runtime is not started with, without which no agent starts or none reaches its model; "" where none is."""
    told = (option.lstrip("-").partition("=") for option in options)
    given = {name for name, _, value in told if value.lower() not in {"false", "f", "0", "none"}}
    if kernel is not Kernel.GVISOR:
        return ""
    return next(("--" + least[0] for least in _NEEDED if not given & {*least}), "")


def shown_on(kernel: Kernel) -> Shown:
    """What a kernel shows; one that nobody knows is asked for everything."""
    return _SENTRY if kernel is Kernel.GVISOR else _LINUX


def threads_of(kernel: Kernel) -> int:
    """How many processes beside the agent's a kernel needs for itself, where these count against a container's limit."""
    return _THREADS if kernel is Kernel.GVISOR else 0


def calls_for(kernel: Kernel, listed: str) -> str:
    """The list of calls that a kernel is given: ours as it is, but for gVisor `clone3`, which it answers itself."""
    if kernel is not Kernel.GVISOR:
        return listed
    profile = json.loads(listed)
    for rule in profile["syscalls"]:
        if rule["names"] == ["clone3"]:
            rule["action"] = "SCMP_ACT_ALLOW"
            rule.pop("errnoRet", None)
    return json.dumps(profile, sort_keys=True)
