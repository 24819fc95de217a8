"""What a profile cannot ask for, by the names that other programs have for it: told as such, and not as a misspelt key (M1)."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: What is asked for → why there is none of it, and the names people try.
_BEYOND: Mapping[str, tuple[str, str]] = {
    "privileges": (
        "its container has no capability and a uid of its own, and nothing gives it more",
        "privileged capadd capabilities caps securityopt seccomp apparmor nonewprivileges root sudo user uid gid groupadd",
    ),
    "devices": ("its container has none", "devices device devicecgrouprules gpus gpu"),
    "a network": (
        "its container has none; the model is reached through the gateway alone, and pages by a tool that asks",
        "network networks networkmode networkdisabled net internet proxy dns extrahosts hosts ports expose publish links",
    ),
    "mounts": (
        "its container sees a copy of what `read` selects of cwd, and nothing else of this machine",
        "mounts mount volumes volume volumesfrom binds bind tmpfs shmsize",
    ),
    "host paths": (
        "its container sees a copy of what `read` selects of cwd, and nothing else of this machine",
        "hostpaths hostpath paths path directories additionaldirectories adddir adddirs extradirs folders workspace workingdir",
    ),
    "sockets": (
        "its container has one, the gateway's",
        "sockets socket dockersock dockersocket dockerhost sshagent sshauthsock",
    ),
    "namespaces or kernel settings of the host": (
        "its container has its own, with the limits of [limits]",
        "pid pidmode ipc ipcmode uts userns usernsmode cgroup cgroupns cgroupparent sysctls ulimits oomkilldisable",
    ),
    "variables or secrets of the host": (
        "its container has none; what an agent is to know stands in its prompt or in cwd",
        "env environment envfile secrets secret credentials apikey",
    ),
    "another image or program": (
        "every agent runs in the one sandbox image, under the runtime of RUNNER_RUNTIME",
        "image entrypoint command cmd runtime init",
    ),
}
_REASON = {word: f"a profile cannot ask for {what}: {why}" for what, (why, words) in _BEYOND.items() for word in words.split()}


def beyond(key: str) -> str | None:
    """Why there is no such key; None when it names nothing of this kind."""
    return _REASON.get(re.sub(r"[^a-z]", "", key.lower()))
