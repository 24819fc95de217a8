"""What `runner doctor` says: each prerequisite and each live condition, judged from facts, with what to do about it. Pure.

Gathering the facts is `facts`' business; nothing here looks at the world.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from runner.sandbox.engine import EngineInfo, ImageInfo
from runner.sandbox.kernels import Kernel, kernel_of, lacking
from runner.sandbox.spec import FIRST_UID
from runner.supervisor.runtimes import Exposure, exposures, is_debian

MIB, GIB = 1024**2, 1024**3
#: Below the first figure nothing works for long; below the second it may not (state directory, engine, free memory).
STATE_ROOM = (512 * MIB, 2 * GIB)
ENGINE_ROOM = (1 * GIB, 5 * GIB)
MEMORY = (512 * MIB, 2 * GIB)
#: First engine API that takes every part of a container's spec.
ENGINE_API = (1, 41)
_TRACKER = "https://security-tracker.debian.org/tracker/source-package/runc"


class Level(Enum):
    """How a check ended."""

    FINE = "fine"
    NOTE = "note"  #: works, and a person should know
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at, what was found, and what to do about it."""

    name: str
    level: Level
    found: str
    fix: str | None = None


class Trouble(NamedTuple):
    """An error met while looking."""

    found: str
    fix: str | None


class Container(NamedTuple):
    """A container of this state directory: its id and the engine's word for its state."""

    id: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What an engine that answers tells. `room`: free bytes where it keeps things; None where this host cannot see it."""

    info: EngineInfo
    image: ImageInfo | None
    containers: tuple[Container, ...] = ()
    room: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything the checks look at."""

    supervisor: int | None = None  #: pid of whoever holds the state directory
    answers: bool = False  #: its control socket does
    busy: int = 0  #: runs that have a container now, as it says
    state_dir: Path
    state: Trouble | None = None
    exists: bool = True
    room: int
    memory: int
    short: str | None = None  #: what there is too little of for one more agent
    database: Trouble | str  #: `absent`, `elsewhere` or `whole`
    agents: int = 0
    users: tuple[tuple[int, str], ...] = ()  #: people's uids among those reserved for agents
    model: Trouble | str  #: its kind
    engine: Trouble | EngineFacts
    runtime: str = "runc"
    cli_version: str  #: what the installed SDK wants


def examine(facts: Facts) -> tuple[Check, ...]:
    """Every check, in the order a person would put things right."""
    return tuple(_checks(facts))


def _checks(facts: Facts) -> Iterator[Check]:
    yield _supervisor(facts)
    yield _state_dir(facts)
    yield _database(facts)
    yield _room("disk of the state directory", facts.room, STATE_ROOM)
    yield _room("memory", facts.memory, MEMORY)
    if facts.short is not None:
        fix = "end what takes it, or change RUNNER_HOST"
        yield Check(name="room for an agent", level=Level.NOTE, found=f"{facts.short}; runs wait", fix=fix)
    yield _uids(facts)
    yield _model(facts)
    if isinstance(facts.engine, Trouble):
        yield Check(name="engine", level=Level.WRONG, found=facts.engine.found, fix=facts.engine.fix)
        return
    info = facts.engine.info
    yield _engine(info)
    yield _runtime(info, facts.runtime)
    yield _runc(info.runc)
    yield _seccomp(info)
    yield _apparmor(info)
    yield _user_namespace(info)
    yield _cgroups(info)
    if facts.engine.room is None:
        found = f"{info.root or 'its directory'} cannot be seen from here"
        yield Check(name="disk of the engine", level=Level.NOTE, found=found)
    else:
        yield _room("disk of the engine", facts.engine.room, ENGINE_ROOM)
    yield _image(facts.engine.image, facts.cli_version)
    yield _containers(facts.engine.containers, facts)


def _supervisor(facts: Facts) -> Check:
    name = "supervisor"
    if facts.supervisor is None:
        return Check(name=name, level=Level.NOTE, found="it does not run", fix="runner up")
    if not facts.answers:
        who = f"pid {facts.supervisor}" if facts.supervisor else "somebody"
        found = f"{who} holds the state directory and its control socket does not answer"
        return Check(name=name, level=Level.WRONG, found=found, fix="look at its log; runner down, then runner up")
    return Check(name=name, level=Level.FINE, found=f"runs, pid {facts.supervisor}, and answers")


def _state_dir(facts: Facts) -> Check:
    name = "state directory"
    if facts.state is not None:
        return Check(name=name, level=Level.WRONG, found=facts.state.found, fix=facts.state.fix)
    if not facts.exists:
        return Check(name=name, level=Level.NOTE, found=f"{facts.state_dir} is not there; the first start makes it")
    return Check(name=name, level=Level.FINE, found=f"{facts.state_dir} is this user's alone")


def _database(facts: Facts) -> Check:
    match facts.database:
        case Trouble(found, fix):
            return Check(name="database", level=Level.WRONG, found=found, fix=fix)
        case "absent":
            return Check(name="database", level=Level.NOTE, found="it is not there; the first start makes it")
        case "elsewhere":
            return Check(name="database", level=Level.NOTE, found="it is on another machine, which is not asked from here")
        case _:
            return Check(name="database", level=Level.FINE, found="it is whole, and of this version or an older one")


def _room(name: str, free: int, bounds: tuple[int, int]) -> Check:
    least, enough = bounds
    found = f"{free / GIB:.1f} GiB free"
    if free < least:
        return Check(
            name=name, level=Level.WRONG, found=found, fix=f"free some: below {least / GIB:.1f} GiB nothing works for long"
        )
    if free < enough:
        return Check(
            name=name, level=Level.NOTE, found=found, fix=f"{enough / GIB:.0f} GiB are enough for a few agents at once"
        )
    return Check(name=name, level=Level.FINE, found=found)


def _uids(facts: Facts) -> Check:
    name, end = "uids of agents", FIRST_UID + max(facts.agents, 1)
    taken = [f"{uid} is {user}" for uid, user in facts.users if uid < end]
    later = [f"{uid} is {user}" for uid, user in facts.users if uid >= end]
    fix = "give these people other uids: an agent that has a person's uid shares the kernel's quotas with them"
    if taken:
        return Check(name=name, level=Level.WRONG, found=", ".join(taken), fix=fix)
    if later:
        return Check(name=name, level=Level.NOTE, found=f"free so far; {', '.join(later)}", fix=fix)
    return Check(name=name, level=Level.FINE, found=f"{FIRST_UID} and up are nobody's")


def _model(facts: Facts) -> Check:
    match facts.model:
        case Trouble(found, fix) if facts.answers:
            found = f"not from here ({found}); the supervisor that runs has settings of its own"
            return Check(name="model", level=Level.NOTE, found=found, fix=fix)
        case Trouble(found, fix):
            return Check(name="model", level=Level.WRONG, found=found, fix=fix)
        case kind:
            return Check(name="model", level=Level.FINE, found=f"{kind} is configured")


def _engine(info: EngineInfo) -> Check:
    said = info.api_version.split(".")
    api = tuple(int(part) for part in said) if all(part.isdigit() for part in said) else (0,)
    if api < ENGINE_API:
        found = f"{info.version}, API {info.api_version}: too old for what a container is asked to be"
        return Check(name="engine", level=Level.WRONG, found=found, fix="upgrade to Docker Engine 20.10 or later")
    return Check(name="engine", level=Level.FINE, found=f"answers, version {info.version}, API {info.api_version}")


def _runtime(info: EngineInfo, wanted: str) -> Check:
    name, fix = "runtime", "add it to the engine's daemon.json, or change RUNNER_RUNTIME"
    if wanted not in info.runtimes:
        found = f"the engine has no runtime {wanted}: {', '.join(info.runtimes) or 'it names none'}"
        return Check(name=name, level=Level.WRONG, found=found, fix=fix)
    if (kernel := kernel_of(wanted)) is not Kernel.HOST:
        missing = lacking(kernel, info.options.get(wanted, ()))
        found = (
            f"has no {missing}: no agent works under it" if missing else "is used; it must pass the proof, or no agent starts"
        )
        level, fix = Level.WRONG if missing else Level.NOTE, "docs/hardening.md says how to set it up; make escape tries it"
        return Check(name=name, level=level, found=f"{wanted} {found}", fix=fix)
    others = [runtime for runtime in info.runtimes if runtime.startswith(("runsc", "kata"))]
    more = f"; {', '.join(others)} there too, and not used" if others else "; no runtime with a kernel of its own"
    return Check(name=name, level=Level.FINE, found=f"{wanted} is there and used{more}")


def _runc(version: str) -> Check:
    known = exposures(version)
    if known is None:
        return Check(name="runc", level=Level.NOTE, found="the engine does not tell its version", fix="runc --version")
    holes = [hole for hole, exposure in known.items() if exposure is Exposure.OPEN]
    theirs = [hole for hole, exposure in known.items() if exposure is Exposure.DISTRIBUTION]
    if holes:
        fix = "upgrade runc: 1.2.8, 1.3.3 or later, or your distribution's newest"
        return Check(name="runc", level=Level.WRONG, found=f"{version} has {', '.join(holes)}", fix=fix)
    if theirs:
        whose = "Debian" if is_debian(version) else "its maker"
        found = f"{version}: distribution version, patched per {whose}; by its number alone it has {', '.join(theirs)}"
        return Check(name="runc", level=Level.NOTE, found=found, fix=f"keep it upgraded; {_TRACKER} tells what is patched")
    return Check(name="runc", level=Level.FINE, found=f"{version} has no hole this version of runner knows")


def _seccomp(info: EngineInfo) -> Check:
    if _has(info, "seccomp"):
        return Check(name="seccomp", level=Level.FINE, found="the engine filters system calls")
    fix = "use a kernel and an engine with seccomp; without it no agent starts"
    return Check(name="seccomp", level=Level.WRONG, found="the engine does not filter system calls", fix=fix)


def _apparmor(info: EngineInfo) -> Check:
    if _has(info, "apparmor") or _has(info, "selinux"):
        return Check(name="AppArmor", level=Level.FINE, found="the kernel confines containers by profile too: used")
    found = "the kernel has neither AppArmor nor SELinux; the other walls stand without"
    return Check(name="AppArmor", level=Level.NOTE, found=found)


def _user_namespace(info: EngineInfo) -> Check:
    if _has(info, "rootless") or _has(info, "userns"):
        return Check(name="user namespace", level=Level.FINE, found="no uid in a container is the host's: used")
    found = "container uids are the host's; each agent has one that owns nothing"
    return Check(name="user namespace", level=Level.NOTE, found=found)


def _cgroups(info: EngineInfo) -> Check:
    if info.cgroup_version == "2":
        return Check(name="cgroups", level=Level.FINE, found="version 2")
    found = f"version {info.cgroup_version}: limits hold, version 2 is better kept"
    return Check(name="cgroups", level=Level.NOTE, found=found)


def _has(info: EngineInfo, what: str) -> bool:
    return any(f"name={what}" in option.split(",") for option in info.security)


def _image(image: ImageInfo | None, wanted: str) -> Check:
    fix = "runner image build"
    if image is None:
        return Check(name="sandbox image", level=Level.WRONG, found="there is none", fix=fix)
    if image.cli_version != wanted:
        found = f"it has CLI {image.cli_version or 'unknown'}, and the installed SDK wants {wanted}"
        return Check(name="sandbox image", level=Level.WRONG, found=found, fix=fix)
    return Check(name="sandbox image", level=Level.FINE, found=f"{image.tag}, CLI {image.cli_version} as the SDK wants it")


def _containers(found: tuple[Container, ...], facts: Facts) -> Check:
    name = "containers"
    stuck = [container.id[:12] for container in found if container.state in {"dead", "removing", "stuck"}]
    if stuck:
        return Check(
            name=name,
            level=Level.WRONG,
            found=f"stuck: {', '.join(stuck)}",
            fix="docker rm -f them; restart the engine if that hangs",
        )
    if found and facts.supervisor is None:
        left = f"{len(found)} left over by a supervisor that was killed"
        return Check(name=name, level=Level.WRONG, found=left, fix="runner up removes them")
    waiting = sum(container.state == "paused" for container in found)
    at_work = len(found) - waiting
    if at_work > facts.busy and facts.answers:
        more = f"{at_work}, though {facts.busy} runs need one; those that just ended are being removed"
        return Check(name=name, level=Level.NOTE, found=more, fix="if it stays so: runner down, then runner up")
    return Check(name=name, level=Level.FINE, found=f"{at_work} at work, {waiting} wait for a run, none left over")
