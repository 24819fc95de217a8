"""What was read under Debian's runsc 20221219 with --platform=ptrace --network=none --oci-seccomp --fsgofer-host-uds.

Word for word but for names of directories.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from runner.sandbox.kernel import parse_mounts, parse_status, whereabouts
from runner.sandbox.outside import Limits
from runner.sandbox.sentry import APART, Beneath, Sentry
from runner.sandbox.spec import OOM_SCORE, SandboxSpec

CONTAINER = "54b6eedb0e4f"
_REPORT = (
    '{"probe":1,"status":{"Uid":["10007","10007","10007","10007"],"Gid":["10007","10007","10007","10007"],'
    '"Groups":["10007"],"CapInh":["0000000000000000"],"CapPrm":["0000000000000000"],"CapEff":["0000000000000000"],'
    '"CapBnd":["0000000000000000"],"Seccomp":["2"]},"mounts":[["/","ro","9p"],["/dev","rw","tmpfs"],'
    '["/sys","ro,noexec","sysfs"],["/tmp","rw,noexec","tmpfs"],["/proc","rw,noexec","proc"],'
    '["/dev/pts","rw,noexec","devpts"],["/dev/shm","rw,noexec","tmpfs"],["/workspace","ro","9p"],'
    '["/home/agent","rw,noexec","tmpfs"],["/run/gateway","ro","9p"],["/etc/hostname","ro","9p"],'
    '["/usr/sbin/docker-init","ro","9p"]],"devices":["lo"],"nodes":["full","fuse","null","random","tty","urandom",'
    '"zero","net/tun","pts/ptmx"],"routes":0,"names":["ANTHROPIC_API_KEY","HOME","PATH","HOSTNAME"],'
    '"canary":"refused","places":{"/workspace":"","/run/gateway":"","/run/session":""},"spaces":{"cgroup":"","ipc":"",'
    '"mnt":"","net":"157","pid":"158","user":"159","uts":""},"limits":{"memory":"?","pids":"?","cpu":"?","core":"0",'
    '"nofile":"4096"}}'
)
_NOBODY = """Uid:	65534	65534	65534	65534
Gid:	65534	65534	65534	65534
NoNewPrivs:	1
Seccomp:	2
Seccomp_filters:	1
"""
_SERVER = _NOBODY.replace("65534", "0")
_EMPTY = "121 92 0:45 / / ro,relatime - tmpfs runsc-root rw,uid=65534,gid=65534\n"
_SERVED = """95 93 0:39 / / ro,relatime master:3 - overlay overlay rw,lowerdir=/srv/engine
96 95 254:0 /usr/bin/tini-static /usr/sbin/docker-init rw,relatime - ext4 /dev/vda rw
97 95 254:0 /srv/state/snapshot /workspace rw,relatime - ext4 /dev/vda rw
98 95 254:0 /srv/state/gateway /run/gateway rw,relatime - ext4 /dev/vda rw
99 95 254:0 /srv/engine/hostname /etc/hostname rw,relatime - ext4 /dev/vda rw
"""
_OURS = parse_mounts("26 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n")


def a_gvisor_report() -> dict[str, Any]:
    """What the first process says of itself."""
    return dict(json.loads(_REPORT))


def a_sentry(spec: SandboxSpec) -> Sentry:
    """What the host sees: the file server, the kernel, and a helper of it."""
    kernel = Beneath(status=parse_status(_NOBODY), mounts=parse_mounts(_EMPTY))
    server = Beneath(status=parse_status(_SERVER), mounts=parse_mounts(_SERVED))
    return Sentry(
        processes=(server, kernel, kernel),
        places={str(mount.target): whereabouts(_OURS, mount.source) for mount in spec.mounts},
        groups=frozenset({f"/docker/{CONTAINER}"}),
        limits=Limits(
            memory=str(spec.memory), swap=str(spec.memory), pids=str(spec.pids), cpu=("100000", "100000"), rules=("a *:* rwm",)
        ),
        devices=frozenset({"lo"}),
        oom=str(OOM_SCORE),
        spaces={name: (f"{name}:[1]", f"{name}:[2]") for name in APART},
    )


def mounted(one: Beneath, target: str, line: str) -> Beneath:
    """A process with the mounts of a target replaced by a line of mountinfo; "" takes them away."""
    kept = tuple(mount for mount in one.mounts if PurePosixPath(mount.target) != PurePosixPath(target))
    return Beneath(status=one.status, mounts=(*kept, *parse_mounts(line)))
