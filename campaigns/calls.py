"""Holds our list of system calls against the engine's own (M1): ours lets nothing in that the engine's default would not.

The engine's list is what its runtime was told for a container that asks for nothing and has no capability. What one engine
says is recorded beside this file, names and conditions only: the docs and the tests without an engine compare with that.
Usage: python -m campaigns.calls [--record], on the engine's own host, as who may read its runtime's folder.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from runner.resources import sandbox_dir

RECORD = Path(__file__).with_suffix(".json")
IMAGE = "runner-sandbox:latest"
#: Where the engine's containerd leaves what it told the runtime: one of its own, or the system's.
_BUNDLES = (
    "/run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby",
    "/run/containerd/io.containerd.runtime.v2.task/moby",
)
_ALLOW = "SCMP_ACT_ALLOW"

Argument: TypeAlias = "tuple[int, int, int, str]"  #: index, value, second value, comparison
#: Each call that is let in, with the conditions under any of which it is; an empty condition is always fulfilled.
Calls: TypeAlias = "Mapping[str, tuple[tuple[Argument, ...], ...]]"

#: What the issue and its likes are about: calls that no agent's process may make, by what they would be good for.
FAMILIES: Mapping[str, str] = {
    "io_uring": "io_uring_setup io_uring_enter io_uring_register",
    "userfaultfd": "userfaultfd",
    "bpf and tracing of the kernel": "bpf perf_event_open lookup_dcookie syslog",
    "other processes' memory and handles": (
        "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd"
    ),
    "keyrings": "keyctl add_key request_key",
    "mounts, old and new": (
        "mount umount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr "
        "open_by_handle_at name_to_handle_at"
    ),
    "namespaces": "unshare setns",
    "another personality": "personality modify_ldt",
    "the kernel itself": "kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct",
    "clocks and names of the host": (
        "settimeofday clock_settime adjtimex clock_adjtime clock_adjtime64 sethostname setdomainname"
    ),
    "another user": (
        "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset "
        "setuid32 setgid32 setreuid32 setregid32 setresuid32 setresgid32 setfsuid32 setfsgid32 setgroups32"
    ),
    "devices and attributes": (
        "mknod mknodat iopl ioperm setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr "
        "fanotify_init fanotify_mark"
    ),
    "shared memory and queues of System V and POSIX": (
        "ipc shmget shmat shmctl shmdt semget semop semctl semtimedop semtimedop_time64 msgget msgsnd msgrcv msgctl "
        "mq_open mq_unlink mq_notify mq_getsetattr mq_timedsend mq_timedreceive mq_timedsend_time64 mq_timedreceive_time64"
    ),
    "asynchronous input and output": (
        "io_setup io_submit io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64"
    ),
    "filters of its own": "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret",
    "priority over others": "sched_setscheduler sched_setparam sched_setattr ioprio_set mlockall munlockall nice",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One list of calls; whatever it does not let in is refused."""

    calls: Calls
    machines: frozenset[str]  #: kinds of calls that are known, such as x86_64's 32-bit ones


def parse(profile: Mapping[str, Any]) -> Listed:
    """A list as the runtime is told it.

    Raises:
        ValueError: It does not refuse by default, so what it names is no list of what is let in.
    """
    if profile.get("defaultAction") != "SCMP_ACT_ERRNO":
        raise ValueError("no list that refuses by default")
    found: dict[str, list[tuple[Argument, ...]]] = {}
    for rule in profile["syscalls"]:
        if rule["action"] == _ALLOW:
            condition = tuple(_argument(one) for one in rule.get("args") or ())
            for name in rule["names"]:
                found.setdefault(name, []).append(condition)
    return Listed(calls={name: tuple(each) for name, each in found.items()}, machines=frozenset(_machines(profile)))


def _argument(one: Mapping[str, Any]) -> Argument:
    return int(one["index"]), int(one["value"]), int(one.get("valueTwo", 0)), str(one["op"])


def _machines(profile: Mapping[str, Any]) -> Iterator[str]:
    """A list of our kind maps each machine to its other kinds of calls; what the runtime is told names them outright."""
    yield from profile.get("architectures") or ()
    for one in profile.get("archMap") or ():
        if one["architecture"] == f"SCMP_ARCH_{platform.machine().upper()}":
            yield from (one["architecture"], *one["subArchitectures"])


def wider(ours: Listed, theirs: Listed) -> tuple[str, ...]:
    """Everything that `ours` lets in and `theirs` does not; a condition that cannot be told to be narrower counts as wider."""
    found = [f"machine {name}" for name in sorted(ours.machines - theirs.machines)]
    for name, conditions in sorted(ours.calls.items()):
        others = theirs.calls.get(name, ())
        if not all(any(_narrower(condition, other) for other in others) for condition in conditions):
            found.append(name)
    return tuple(found)


def _narrower(ours: Sequence[Argument], theirs: Sequence[Argument]) -> bool:
    """Whether every call under the one condition is one under the other."""
    return all(any(one == other or _fulfils(one, other) for one in ours) for other in theirs)


def _fulfils(one: Argument, other: Argument) -> bool:
    """Whether a fixed value is one that the other comparison lets in."""
    (index, value, _, how), (place, wanted, second, comparison) = one, other
    if index != place or how != "SCMP_CMP_EQ":
        return False
    return {
        "SCMP_CMP_EQ": value == wanted,
        "SCMP_CMP_NE": value != wanted,
        "SCMP_CMP_LT": value < wanted,
        "SCMP_CMP_LE": value <= wanted,
        "SCMP_CMP_GE": value >= wanted,
        "SCMP_CMP_GT": value > wanted,
        "SCMP_CMP_MASKED_EQ": value & wanted == second,
    }.get(comparison, False)


def present(listed: Listed) -> dict[str, tuple[str, ...]]:
    """Of each family, the calls that a list lets in, under whatever condition."""
    return {name: tuple(call for call in calls.split() if call in listed.calls) for name, calls in FAMILIES.items()}


def our_list() -> Listed:
    """The list of this project."""
    return parse(json.loads((sandbox_dir() / "seccomp.json").read_text(encoding="utf-8")))


def recorded() -> tuple[str, Listed]:
    """The recorded engine's version and its list."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    calls = {name: ((),) for name in found["always"]}
    conditions = {
        name: tuple(tuple((int(a), int(b), int(c), str(d)) for a, b, c, d in one) for one in each)
        for name, each in found["conditions"].items()
    }
    return found["engine"], Listed(calls={**calls, **conditions}, machines=frozenset(found["machines"]))


def asked_engine(image: str = IMAGE) -> tuple[str, Listed]:
    """This machine's engine's version, and the list it gives a container of `image` that asks for none and has no capability.

    Raises:
        RuntimeError: What the runtime was told is not to be found here.
    """
    version = _docker("version", "--format", "{{.Server.Version}}")
    made = _docker("create", "--cap-drop", "ALL", "--network", "none", "--entrypoint", "sleep", image, "60")
    try:
        _docker("start", made)
        for place in _BUNDLES:
            file = Path(place) / made / "config.json"
            if file.exists():
                return version, parse(json.loads(file.read_text(encoding="utf-8"))["linux"]["seccomp"])
        raise RuntimeError(f"what the engine told its runtime is in none of {', '.join(_BUNDLES)}")
    finally:
        _docker("rm", "--force", made)


def _docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def _document(version: str, listed: Listed) -> str:
    always = sorted(name for name, each in listed.calls.items() if () in each)
    conditions = {name: [list(one) for one in each] for name, each in sorted(listed.calls.items()) if name not in always}
    how = "python -m campaigns.calls --record: calls let in for a container without capabilities under the default list"
    said = {"engine": version, "machines": sorted(listed.machines), "how": how, "always": always, "conditions": conditions}
    return json.dumps(said, indent=1) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Print what ours lets in beyond this engine's, and each family; 1 when there is anything of either."""
    version, theirs = asked_engine()
    if "--record" in arguments:
        RECORD.write_text(_document(version, theirs), encoding="utf-8")
    ours = our_list()
    more, kept = wider(ours, theirs), {name: calls for name, calls in present(ours).items() if calls}
    lets = present(theirs)
    print(f"{'family':48} {'engine ' + version:>22} {'ours':>6}")
    for name, calls in FAMILIES.items():
        print(f"{name:48} {f'{len(lets[name])} of {len(calls.split())}':>22} {len(kept.get(name, ())):>6}")
    print(f"{'all calls':48} {len(theirs.calls):>22} {len(ours.calls):>6}")
    print(f"\n{len(more)} let in that the engine's own list refuses{': ' + ', '.join(more) if more else ''}")
    return 1 if more or kept else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
