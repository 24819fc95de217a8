"""The kernel's own words on a process, its mounts and its limits, as values. Pure: texts of /proc in, values out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ESCAPE = re.compile(r"\\([0-7]{3})")
_PAGE = 64 * 1024  #: the largest there is
_FLAGS = ("nosuid", "nodev", "noexec")


@dataclass(frozen=True, slots=True, kw_only=True)
class MountLine:
    """One mount. `device` is "major:minor", `root` the mounted directory's place in its file system."""

    device: str
    root: str
    target: str
    access: str  #: "ro" or "rw", then those of nosuid, nodev, noexec that are in force
    kind: str
    options: frozenset[str] = frozenset()  #: of the file system itself, such as "size=131072k"

    def seen(self) -> tuple[str, str, str]:
        """What the start-up probe tells of a mount too."""
        return self.target, self.access, self.kind


def parse_status(text: str) -> dict[str, list[str]]:
    """/proc/PID/status: each name with its words."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: words.split() for name, colon, words in pairs if colon}


def parse_mounts(text: str) -> tuple[MountLine, ...]:
    """/proc/PID/mountinfo, in the kernel's order.

    Raises:
        ValueError: A line is none.
    """
    return tuple(_mount(line) for line in text.splitlines())


def _mount(line: str) -> MountLine:
    place, dash, rest = line.partition(" - ")
    words = place.split(" ")
    if not dash or len(words) < 6:
        raise ValueError("no line of mountinfo")
    options = words[5].split(",")
    access = ["ro" if "ro" in options else "rw", *(flag for flag in _FLAGS if flag in options)]
    kind, *_, of_all = rest.split(" ")
    return MountLine(
        device=words[2],
        root=_plain(words[3]),
        target=_plain(words[4]),
        access=",".join(access),
        kind=kind,
        options=frozenset(of_all.split(",")),
    )


def _plain(word: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), word)


def size_is(wanted: int, options: frozenset[str]) -> bool:
    """Whether a file system in memory has that many bytes; the kernel rounds up to its pages."""
    for option in options:
        name, _, value = option.partition("=")
        if name == "size" and value.endswith("k") and value[:-1].isdigit():
            return 0 <= int(value[:-1]) * 1024 - wanted < _PAGE
    return False


def parse_limits(text: str) -> dict[str, tuple[str, str]]:
    """/proc/PID/limits: each limit's name with its soft and its hard value."""
    rows = (re.split(r"\s{2,}", line.strip()) for line in text.splitlines()[1:])
    return {row[0]: (row[1], row[2]) for row in rows if len(row) >= 3}


def parse_devices(text: str) -> frozenset[str]:
    """/proc/PID/net/dev: names of the network devices."""
    return frozenset(line.split(":")[0].strip() for line in text.splitlines() if ":" in line)


def parse_groups(text: str) -> dict[str, str]:
    """/proc/PID/cgroup: each controller with its path; version 2's one path under ""."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        found.update(dict.fromkeys(names.split(","), path))
    return found


def outside_id(uid_map: str, inside: int) -> int | None:
    """The host's number of an id in a user namespace; None when it has none there."""
    for line in uid_map.splitlines():
        first, outer, count = (int(word) for word in line.split())
        if first <= inside < first + count:
            return outer + inside - first
    return None


def whereabouts(mounts: Sequence[MountLine], path: Path) -> tuple[str, str] | None:
    """The device a real path lies on and its place in that file system, as a bind mount of it would tell; None: nowhere."""
    best: MountLine | None = None
    for mount in mounts:
        # A later mount on the same place lies on top.
        if path.is_relative_to(mount.target) and (best is None or len(mount.target) >= len(best.target)):
            best = mount
    if best is None:
        return None
    return best.device, str(PurePosixPath(best.root) / path.relative_to(best.target))


def cpu_is(cpus: float, found: tuple[str, str] | None) -> bool:
    """Whether quota and period are that many processors."""
    if found is None or not all(word.isdigit() for word in found) or found[1] == "0":
        return False
    return abs(int(found[0]) / int(found[1]) - cpus) < 0.005
