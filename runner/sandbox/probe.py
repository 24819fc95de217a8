"""What the first process in a container reports of itself, held against the spec (M2).

Pure. The report is the kernel's word as sandbox/probe.sh reads it before anything of the agent has run; a line that is not
exactly such a report is a difference too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from runner.digest import MalformedJsonError, parse_strict
from runner.errors import SandboxMismatchError
from runner.model import WORKSPACE, JsonObject
from runner.sandbox.confined import Confined
from runner.sandbox.kernel import cpu_is
from runner.sandbox.kernels import NODES, SAFE, Kernel, Shown, shown_on
from runner.sandbox.spec import SandboxSpec

#: A report is a few KiB; more is not one.
MAX_REPORT = 64 * 1024

_ZERO = "0" * 16
_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
#: The engine adds it by itself.
ADDED_NAMES = frozenset({"HOSTNAME"})
#: Namespaces that are never the supervisor's own; the user namespace is, where the engine does not remap.
SPACES = ("cgroup", "ipc", "mnt", "net", "pid", "uts")
#: Writable in name only: kernel interfaces, or owned by root, which nobody in the container is.
_WRITABLE = frozenset(
    {
        ("/proc", "proc"),
        ("/dev", "tmpfs"),
        ("/dev/pts", "devpts"),
        ("/dev/mqueue", "mqueue"),
        ("/dev/shm", "tmpfs"),  # noqa: S108 - the container's own
        ("/sys/fs/cgroup", "tmpfs"),
    }
)
#: Files of the engine that it mounts into every container.
ENGINE_FILES = frozenset({"/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/sbin/docker-init", "/usr/sbin/docker-init"})
#: Beneath these the engine mounts masks and the kernel's own file systems.
_SYSTEM = ("/proc/", "/sys/", "/dev/")
_SYSTEM_KINDS = frozenset({"proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2"})
#: Parts of /proc that every kernel has and that are mounted once more, read-only.
_READ_ONLY = frozenset({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"})
_LINUX = shown_on(Kernel.HOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """What the supervisor sees from outside.

    `places` maps a mount target to "device:inode" of its source; `spaces` maps a namespace to the supervisor's own.
    """

    places: Mapping[str, str]
    spaces: Mapping[str, str]


def parse_report(line: bytes) -> JsonObject:
    """The report in a container's first line.

    Raises:
        SandboxMismatchError: It is none.
    """
    try:
        value = parse_strict(line.decode("ascii"), max_depth=4)
    except (MalformedJsonError, UnicodeDecodeError):
        value = None
    if not isinstance(value, dict) or value.get("probe") != 1:
        raise SandboxMismatchError(
            "cannot trust the container: its first line is no report of the start-up probe", details=ascii(line[:200])
        )
    return value


def discrepancies(spec: SandboxSpec, report: JsonObject, *, host: HostView) -> tuple[str, ...]:
    """Every difference between what was asked and what is in force; a missing or odd value is one."""
    try:
        return (
            *status_faults(cast("dict[str, list[str]]", report["status"]), uid=spec.uid, shown=shown_on(spec.kernel)),
            *mount_faults(spec, cast("list[tuple[str, str, str]]", report["mounts"]), remapped=_remapped(spec, report, host)),
            *_surroundings(spec, report),
            *_host_view(spec, report, host=host),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ("the report is incomplete",)


def status_faults(status: Mapping[str, list[str]], *, uid: int, shown: Shown = _LINUX) -> list[str]:
    """What is not as asked in the kernel's word on a process, read inside or outside."""
    words = [str(uid)]
    asked: dict[str, list[str]] = {
        "Uid": words * 4,
        "Gid": words * 4,
        "NoNewPrivs": ["1"],
        "Seccomp": ["2"],
        **{name: [_ZERO] for name in _CAPABILITIES},
    }
    found = [name for name, value in asked.items() if (given := status.get(name)) != value and not shown.lacks(name, given)]
    # Kernels before 5.9 do not count the filters.
    if int(status.get("Seccomp_filters", ["1"])[0]) < 1:
        found.append("Seccomp_filters")
    if not set(status["Groups"]) <= {*words}:
        found.append("Groups")
    return found


def mount_faults(spec: Confined, mounts: Iterable[tuple[str, str, str]], *, remapped: bool) -> list[str]:
    """Mounts that were not asked for, lack a flag or are not there exactly once: target, access and kind of each.

    `remapped`: in a user namespace of its own, where the engine can make no device nodes, and so mounts the host's harmless
    ones, and cannot mount control groups read-only, which belong to the host's root, whom nobody in there can be.
    """
    mounts = list(mounts)
    asked = {str(mount.target): False for mount in spec.mounts} | dict.fromkeys(spec.tmpfs(), True)
    safe = SAFE & shown_on(spec.kernel).flags
    found = [
        f"mount {target}"
        for target, access, kind in mounts
        if not _expected(target, access, kind, asked=asked, safe=safe) and not (remapped and _lent(target, kind))
    ]
    targets = [target for target, _, _ in mounts]
    found.extend(
        f"mount {target} (times {targets.count(target)})" for target in sorted({"/", *asked}) if targets.count(target) != 1
    )
    if spec.kernel is Kernel.HOST:
        found.extend(f"mount {target} (times 0)" for target in sorted(_READ_ONLY - set(targets)))
    return found


def _lent(target: str, kind: str) -> bool:
    if kind == "devtmpfs":
        return target.removeprefix("/dev/") in NODES or target.startswith("/proc/")
    return kind == "cgroup" and target.startswith("/sys/fs/cgroup/")


def _expected(target: str, access: str, kind: str, *, asked: Mapping[str, bool], safe: frozenset[str]) -> bool:
    """Whether a mount is one that was asked for, by its target, or that every container has; a scratch is `asked` as True."""
    right, *flags = access.split(",")
    if asked.get(target, False):
        return right == "rw" and kind == "tmpfs" and set(flags) >= safe
    if target == "/" or target in asked or target in ENGINE_FILES:
        return right == "ro"
    if (target, kind) in _WRITABLE:
        return True
    if target == "/sys":
        return right == "ro" and kind == "sysfs"
    # A mask is /dev/null or an empty tmpfs over one name of /proc.
    return (
        target.startswith(_SYSTEM)
        and kind in _SYSTEM_KINDS
        and (right == "ro" or (kind == "tmpfs" and target.startswith("/proc/")))
    )


def _surroundings(spec: SandboxSpec, report: JsonObject) -> list[str]:
    shown = shown_on(spec.kernel)
    limits = cast("dict[str, str]", report["limits"])
    names = cast("list[str]", report["names"])
    asked = {"memory": str(spec.memory), "pids": str(spec.pids), "core": "0", "nofile": str(spec.nofile)}
    found = [
        f"limit {name}"
        for name, value in asked.items()
        if limits.get(name) != value and not shown.lacks(name, limits.get(name))
    ]
    if not cpu_is(spec.cpus, _pair(limits["cpu"])) and not shown.lacks("cpu", limits["cpu"]):
        found.append("limit cpu")
    if not set(cast("list[str]", report["nodes"])) <= shown.nodes:
        found.append("device node")
    if not set(cast("list[str]", report["devices"])) <= {"lo"}:
        found.append("network device")
    if report["routes"] not in {0, -1}:
        found.append("route")
    if set(names) - ADDED_NAMES != set(spec.environment) or len(names) != len(set(names)):
        found.append("environment")
    if report["canary"] != "refused":
        found.append("seccomp list")
    return found


def _pair(text: str) -> tuple[str, str] | None:
    quota, slash, period = text.partition("/")
    return (quota, period) if slash else None


def _remapped(spec: SandboxSpec, report: JsonObject, host: HostView) -> bool:
    if spec.kernel is Kernel.GVISOR:  # its numbers are its own, and it mounts nothing of the host's
        return False
    theirs, ours = cast("dict[str, str]", report["spaces"]).get("user"), host.spaces.get("user")
    return theirs is not None and ours is not None and theirs.isdigit() and theirs != ours


def _host_view(spec: SandboxSpec, report: JsonObject, *, host: HostView) -> list[str]:
    places = cast("dict[str, str]", report["places"])
    spaces = cast("dict[str, str]", report["spaces"])
    shown = shown_on(spec.kernel)
    found = [
        f"namespace {name}"
        for name in SPACES
        if (not spaces[name].isdigit() or spaces[name] == host.spaces.get(name)) and not shown.lacks(name, spaces[name])
    ]
    # Another runtime has a kernel, and so device numbers, of its own.
    if spec.shares_kernel:
        found.extend(f"place {target}" for target, place in host.places.items() if places.get(target) != place)
        if str(WORKSPACE) not in host.places:
            found.append(f"place {WORKSPACE}")
    return found
