"""The supervisor's own look at a container's first process, through its host's /proc and control groups (M2).

Blocking. Fails closed: what cannot be looked at at all is an error, what this user may not see is named.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from runner.errors import SandboxMismatchError
from runner.sandbox.confined import Confined
from runner.sandbox.inspection import MASKED, READ_ONLY
from runner.sandbox.kernel import (
    MountLine,
    outside_id,
    parse_devices,
    parse_groups,
    parse_limits,
    parse_mounts,
    parse_status,
    whereabouts,
)
from runner.sandbox.kernels import Kernel
from runner.sandbox.outside import Limits, Outside, Place
from runner.sandbox.probe import SPACES
from runner.sandbox.sentry import APART, Beneath, Sentry
from runner.sandbox.spec import Mount

_PROC = Path("/proc")
_APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
_SELINUX = Path("/sys/fs/selinux/enforce")


def look(pid: int, spec: Confined) -> Outside | Sentry:
    """Look at a container from outside: at its first process, or under gVisor at those that are its kernel.

    Args:
        pid: The host's number of its first process, or of the one that is its kernel.
        spec: Which mounts and which uid to look for.

    Raises:
        SandboxMismatchError: It cannot be seen from here.
    """
    process = _PROC / str(pid)
    try:
        ours = parse_mounts((_PROC / "self" / "mountinfo").read_text())
        return _look_beneath(process, spec, ours) if spec.kernel is Kernel.GVISOR else _look(process, spec, ours)
    except (OSError, ValueError, KeyError, UnicodeDecodeError) as error:
        raise SandboxMismatchError(
            "cannot trust the container: its first process cannot be looked at from the host",
            details=str(error)[:500],
            resolution="run the supervisor on the engine's own host, in its pid namespace, with /proc not hidden (hidepid)",
        ) from error


def _look(process: Path, spec: Confined, ours: Sequence[MountLine]) -> Outside:
    unseen: list[str] = []
    groups = parse_groups((process / "cgroup").read_text())
    names = _names(process)
    spaces = _spaces(process)
    unseen += [what for what, found in (("environment", names), ("namespaces", spaces)) if found is None]
    return Outside(
        status=parse_status((process / "status").read_text()),
        id=outside_id((process / "uid_map").read_text(), spec.uid),
        mounts=parse_mounts((process / "mountinfo").read_text()),
        places={str(mount.target): _place(process, mount, ours) for mount in spec.mounts},
        guarded=frozenset(path for path in MASKED | READ_ONLY if Path(path).exists()),
        devices=parse_devices((process / "net" / "dev").read_text()),
        groups=frozenset(groups.values()),
        limits=_limits(groups, ours),
        resources=parse_limits((process / "limits").read_text()),
        oom=(process / "oom_score_adj").read_text().strip(),
        names=names,
        spaces=spaces,
        label=_label(process),
        unseen=tuple(unseen),
    )


def _look_beneath(process: Path, spec: Confined, ours: Sequence[MountLine]) -> Sentry:
    groups = parse_groups((process / "cgroup").read_text())
    members = _folder(groups, "pids" if "pids" in groups else "", ours)
    if members is None:
        raise ValueError("its control group is not to be seen")
    pids = (members / "cgroup.procs").read_text().split()
    if process.name not in pids:
        raise ValueError("it does not stand in its own control group")
    return Sentry(
        processes=tuple(found for found in (_beneath(_PROC / pid) for pid in pids) if found is not None),
        places={str(mount.target): whereabouts(ours, mount.source) for mount in spec.mounts},
        groups=frozenset(groups.values()),
        limits=_limits(groups, ours),
        devices=parse_devices((process / "net" / "dev").read_text()),
        oom=(process / "oom_score_adj").read_text().strip(),
        spaces=_spaces(process, APART),
    )


def _beneath(process: Path) -> Beneath | None:
    """None for a helper that has ended meanwhile."""
    try:
        return Beneath(
            status=parse_status((process / "status").read_text()), mounts=parse_mounts((process / "mountinfo").read_text())
        )
    except (FileNotFoundError, ProcessLookupError):
        return None


def _place(process: Path, mount: Mount, ours: Sequence[MountLine]) -> Place:
    facts = mount.source.stat()
    return Place(at=whereabouts(ours, mount.source), source=f"{facts.st_dev}:{facts.st_ino}", seen=_through(process, mount))


def _through(process: Path, mount: Mount) -> str | None:
    try:
        facts = (process / "root" / str(mount.target).lstrip("/")).stat()
    except PermissionError:
        return None
    except (FileNotFoundError, NotADirectoryError):
        return "absent"
    return f"{facts.st_dev}:{facts.st_ino}"


def _names(process: Path) -> frozenset[str] | None:
    try:
        words = (process / "environ").read_bytes().split(b"\0")
    except PermissionError:
        return None
    return frozenset(word.partition(b"=")[0].decode("utf-8", "replace") for word in words if word)


def _spaces(process: Path, names: Sequence[str] = SPACES) -> dict[str, tuple[str, str]] | None:
    try:
        return {name: (os.readlink(process / "ns" / name), os.readlink(_PROC / "self" / "ns" / name)) for name in names}  # noqa: PTH115 - no file
    except PermissionError:
        return None


def _label(process: Path) -> str | None:
    """What AppArmor or SELinux says of it, where the kernel has one of them."""
    with contextlib.suppress(OSError):
        if _APPARMOR.read_text().strip() == "Y" or _SELINUX.exists():
            return (process / "attr" / "current").read_text().strip("\0\n ")
    return None


def _limits(groups: dict[str, str], ours: Sequence[MountLine]) -> Limits:
    if "memory" in groups:
        memory, pids, cpu, devices = (_folder(groups, name, ours) for name in ("memory", "pids", "cpu", "devices"))
        quota, period = _text(cpu, "cpu.cfs_quota_us"), _text(cpu, "cpu.cfs_period_us")
        rules = _text(devices, "devices.list")
        return Limits(
            memory=_text(memory, "memory.limit_in_bytes"),
            swap=_text(memory, "memory.memsw.limit_in_bytes"),
            pids=_text(pids, "pids.max"),
            cpu=None if quota is None or period is None else (quota, period),
            rules=None if rules is None else tuple(rules.splitlines()),
        )
    folder = _folder(groups, "", ours)
    words = (_text(folder, "cpu.max") or "").split()
    return Limits(
        memory=_text(folder, "memory.max"),
        swap=_text(folder, "memory.swap.max"),
        pids=_text(folder, "pids.max"),
        cpu=(words[0], words[1]) if len(words) == 2 else None,
    )


def _folder(groups: dict[str, str], controller: str, ours: Sequence[MountLine]) -> Path | None:
    """Where a controller's files are: version 1 mounts one tree a controller, by its name."""
    kind = "cgroup" if controller else "cgroup2"
    for mount in ours:
        if mount.kind == kind and (not controller or controller in Path(mount.target).name.split(",")):
            return Path(mount.target) / groups[controller].lstrip("/")
    return None


def _text(folder: Path | None, name: str) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        return None if folder is None else (folder / name).read_text().strip()
    return None
