"""Fills the made blocks of docs/hardening.md: what a container is asked to be and why, who sees it weakened, what is tried."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from campaigns.calls import FAMILIES, our_list, present, recorded
from campaigns.wall import MUTATIONS, SIDES
from runner.resources import sandbox_dir
from runner.sandbox.kernels import DIFFERENCES
from runner.supervisor.escape import escape_scripts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "hardening.md"
#: Each part of the create request and what it is for.
WHY = {
    "Image": "the very image that was built and looked at, by its digest",
    "Entrypoint": "the start-up probe runs before anything of the agent",
    "Cmd": "the CLI with its restricting options, nothing else",
    "Env": "no variable of the host, a placeholder for the key, nothing that changes a loader or a shell",
    "User": "a uid of this agent's own that owns nothing on the host, never root",
    "WorkingDir": "always the snapshot: a path through /proc was a way out (CVE-2024-21626)",
    "Hostname": "tells nothing of the host",
    "Labels": "owner, attempt and the spec's digest, by which leftovers are found and a foreign container is refused",
    "Tty": "a terminal could be typed into",
    "OpenStdin": "the agent's protocol",
    "StdinOnce": "one supervisor speaks to it, once",
    "AttachStdin": "the agent's protocol",
    "AttachStdout": "the agent's protocol",
    "AttachStderr": "the agent's protocol",
    "NetworkDisabled": "no network",
    "StopTimeout": "an end comes at once",
    "Volumes": "nothing of the image is kept on the host",
    "ExposedPorts": "no port",
    "Healthcheck": "no program but the agent's",
    "HostConfig.NetworkMode": "no device, no route, no name service: one unix socket is the only way out",
    "HostConfig.ReadonlyRootfs": "the image stays what it is",
    "HostConfig.Privileged": "all protections at once",
    "HostConfig.CapAdd": "no capability",
    "HostConfig.CapDrop": "no capability, also none that could be got later",
    "HostConfig.SecurityOpt": "privileges never grow; calls that no CLI needs are refused; the host's own profiles stay on",
    "HostConfig.MaskedPaths": "what the kernel tells there is for root",
    "HostConfig.ReadonlyPaths": "settings of the host's kernel",
    "HostConfig.IpcMode": "no shared memory with anybody",
    "HostConfig.CgroupnsMode": "no view of the host's groups",
    "HostConfig.CgroupParent": "limits are counted where the engine counts them",
    "HostConfig.PidMode": "sees and signals only its own processes",
    "HostConfig.UTSMode": "the host's name is not its own",
    "HostConfig.UsernsMode": "an engine that remaps users remaps these too",
    "HostConfig.Init": "what its processes leave behind is cleared away (case 104)",
    "HostConfig.RestartPolicy": "a container that came back by itself would run unsupervised",
    "HostConfig.AutoRemove": "its end can be looked at before it goes",
    "HostConfig.LogConfig": "200 MB of output gave 485 MB of log",
    "HostConfig.Memory": "cannot starve the host",
    "HostConfig.MemorySwap": "nor by swap",
    "HostConfig.NanoCpus": "nor of processors",
    "HostConfig.PidsLimit": "a fork bomb ends at its limit",
    "HostConfig.OomKillDisable": "the kernel may end it",
    "HostConfig.OomScoreAdj": "and ends it before anything of the host",
    "HostConfig.ShmSize": "a small place counts as memory, and has an end",
    "HostConfig.Ulimits": "no core dump, so no handler of the host runs; few open files",
    "HostConfig.Tmpfs": "the only places that can be written: in memory, of a size, nothing in them runs",
    "HostConfig.Mounts": "snapshot, gateway and transcript, read-only, without what is mounted beneath them",
    "HostConfig.Binds": "no other directory of the host",
    "HostConfig.Devices": "no device of the host",
    "HostConfig.DeviceCgroupRules": "and no rule that would let one be used",
    "HostConfig.GroupAdd": "no group that owns something",
    "HostConfig.Sysctls": "no setting of a kernel",
    "HostConfig.Dns": "no name service",
    "HostConfig.ExtraHosts": "no names of the host's",
    "HostConfig.Runtime": "the runtime that the operator chose",
}


def parts() -> str:
    """Each part, what it is for, and how weakening it is seen."""
    rows = []
    for part in dict.fromkeys(mutation.part for mutation in MUTATIONS.values()):
        found = {name: mutation for name, mutation in MUTATIONS.items() if mutation.part == part}
        shown = "; ".join(
            f"{name} ({', '.join(side for side in SIDES if side in mutation.seen)})" for name, mutation in found.items()
        )
        rows.append([f"`{part.removeprefix('HostConfig.')}`", WHY[part], shown])
    return _table(["part", "why", "weakened in turn, and who must see it"], rows)


def calls() -> str:
    """The system calls that are let in."""
    listed = json.loads((sandbox_dir() / "seccomp.json").read_text(encoding="utf-8"))["syscalls"]
    rows = [[group["comment"], str(len(group["names"])), _sample(group["names"])] for group in listed]
    return _table(["group", "calls", "such as"], rows)


def families() -> str:
    """What the engine's own list lets in and ours does not, by what it would be good for."""
    version, theirs = recorded()
    ours, lets = our_list(), present(theirs)
    rows = []
    for name, calls in FAMILIES.items():
        named = lets[name]
        kept = len(present(ours)[name])
        rows.append([name, str(len(calls.split())), f"{len(named)}{': ' + _sample(named) if named else ''}", str(kept)])
    rows.append(["all calls", "", str(len(theirs.calls)), str(len(ours.calls))])
    return _table(["family", "calls", f"let in by the engine's own list ({version})", "by ours"], rows)


def differences() -> str:
    """What gVisor does otherwise than Linux."""
    return _table(["under gVisor", "what stands in for it"], [[*row] for row in DIFFERENCES.items()])


def scripts() -> str:
    """The escape suite."""
    rows = [[script.id, script.kind, script.tries, script.must] for script in escape_scripts()]
    return _table(["script", "class", "tries to", "what must happen"], rows)


BLOCKS = {"parts": parts, "calls": calls, "families": families, "scripts": scripts, "differences": differences}


def filled(page: str) -> str:
    """The page with its blocks made anew.

    Raises:
        ValueError: A mark is missing.
    """
    for name, make in BLOCKS.items():
        begin, end = f"<!-- {name}: made by make diagrams -->\n", f"<!-- end of {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page lacks the marks of {name}")
        page = f"{before}{begin}{make()}\n{end}{after}"
    return page


def _sample(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:4]) + (", …" if len(names) > 4 else "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        yield "| " + " | ".join(head) + " |"
        yield "|" + "---|" * len(head)
        for row in rows:
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

    return "\n".join(lines())


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
