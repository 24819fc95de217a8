"""What an engine says of itself and of its host, as a value. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What the host offers."""

    version: str
    api_version: str
    runtimes: tuple[str, ...]
    security: tuple[str, ...]  #: the engine's own words, such as "name=seccomp,profile=default"
    cgroup_version: str
    memory: int
    cpus: int
    runc: str = ""  #: its version as the package that brought it says it; "" when the engine does not tell
    root: str = ""  #: where the engine keeps images and containers, on its own host
    options: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  #: what each runtime is started with, where that is anything


def parse_info(facts: Mapping[str, Any], version: Mapping[str, Any]) -> EngineInfo:
    """The answers to `info` and `version`."""
    options = {name: tuple(one.get("runtimeArgs") or ()) for name, one in (facts.get("Runtimes") or {}).items()}
    return EngineInfo(
        version=str(version["Version"]),
        api_version=str(version["ApiVersion"]),
        runtimes=tuple(sorted(facts.get("Runtimes") or ())),
        security=tuple(facts.get("SecurityOptions") or ()),
        cgroup_version=str(facts.get("CgroupVersion", "1")),
        memory=int(facts.get("MemTotal", 0)),
        cpus=int(facts.get("NCPU", 0)),
        runc=_runc(version.get("Components") or ()),
        root=str(facts.get("DockerRootDir", "")),
        options={name: words for name, words in options.items() if words},
    )


def _runc(parts: Sequence[Mapping[str, Any]]) -> str:
    """A distribution's version stands where upstream has a commit; it is the one that tells of patches."""
    for part in parts:
        if part.get("Name") == "runc":
            commit = str((part.get("Details") or {}).get("GitCommit", ""))
            return commit if commit[:1].isdigit() and "." in commit else str(part.get("Version", ""))
    return ""
