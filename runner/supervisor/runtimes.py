"""Known holes of runc, by version: which the installed one has, has not, or may have patched. Pure.

A distribution patches without changing upstream's number, so its version string says more than the number in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

#: Major, minor, patch, candidate; a release comes after all its candidates.
Version: TypeAlias = "tuple[int, int, int, int]"
_RELEASE = 10_000
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-rc\.?(\d+))?")
_DEBIAN = re.compile(r"\+deb(\d+)u(\d+)")


class Exposure(Enum):
    """Whether a version has a hole."""

    FIXED = "fixed"
    OPEN = "open"
    DISTRIBUTION = "distribution"  #: the distribution's own changelog knows


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """A published way out of a container. `fixed`: first good release of each line; later lines are good from their start."""

    id: str
    fixed: tuple[str, ...]
    debian: tuple[tuple[int, str, int], ...] = ()  #: Debian release, upstream version there, first good update of it


HOLES = (
    Hole(id="CVE-2024-21626", fixed=("1.1.12",), debian=((12, "1.1.5", 1),)),
    Hole(id="CVE-2025-31133", fixed=("1.2.8", "1.3.3", "1.4.0-rc.3")),
    Hole(id="CVE-2025-52565", fixed=("1.2.8", "1.3.3", "1.4.0-rc.3")),
    Hole(id="CVE-2025-52881", fixed=("1.2.8", "1.3.3", "1.4.0-rc.3")),
)


def parse_version(text: str) -> Version | None:
    """Upstream's number in a version string; None when there is none."""
    found = _VERSION.match(text)
    if found is None:
        return None
    major, minor, patch, candidate = found.groups()
    return int(major), int(minor), int(patch), _RELEASE if candidate is None else int(candidate)


def exposures(text: str) -> dict[str, Exposure] | None:
    """Each known hole with what `text`, a version of runc, says about it; None when it is no version."""
    version = parse_version(text)
    return None if version is None else {hole.id: _exposure(hole, version, text) for hole in HOLES}


def is_distribution(text: str) -> bool:
    """Whether a version string is of a distribution's package: upstream's has no part behind its number."""
    found = _VERSION.match(text)
    return found is not None and found.end() < len(text.strip())


def is_debian(text: str) -> bool:
    """Whether a version string is of Debian's own package."""
    return re.search(r"\+(?:deb\d+u\d+|ds\d*|dfsg\d*)", text) is not None


def _exposure(hole: Hole, version: Version, text: str) -> Exposure:
    if _is_fixed(hole, version):
        return Exposure.FIXED
    debian = _DEBIAN.search(text)
    for release, upstream, update in hole.debian:
        if debian is not None and int(debian[1]) == release and version == parse_version(upstream):
            return Exposure.FIXED if int(debian[2]) >= update else Exposure.OPEN
    return Exposure.DISTRIBUTION if is_distribution(text) else Exposure.OPEN


def _is_fixed(hole: Hole, version: Version) -> bool:
    good = [found for found in map(parse_version, hole.fixed) if found is not None]
    same_line = [found for found in good if found[:2] == version[:2]]
    return any(version >= found for found in same_line) or version[:2] > max(good)[:2]
