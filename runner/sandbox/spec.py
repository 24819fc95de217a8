"""Everything a container is asked to be, as one value with a digest.

Pure. No profile and no setting reaches past this value: hardening is not optional, and what would weaken it cannot be built
(M1, G5, case 106). What the engine makes of it is read back and compared (`inspection`, `probe`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from runner.digest import digest_json
from runner.errors import SandboxError
from runner.model import WORKSPACE, Digest, Json
from runner.sandbox.confined import Confined
from runner.sandbox.kernels import Kernel, kernel_of, threads_of

FIRST_UID = 10001
LAST_UID = 10999
GATEWAY = PurePosixPath("/run/gateway")
SESSION = PurePosixPath("/run/session")
HOME = PurePosixPath("/home/agent")
TEMPORARY = PurePosixPath("/tmp")  # noqa: S108 - the container's own, a sized tmpfs
SHARED = "/dev/shm"  # noqa: S108 - likewise
#: Files that fit a scratch, whatever their size.
INODES = 16384
PROBE = ("/bin/sh", "/usr/local/lib/runner/probe.sh")
HOSTNAME = "sandbox"
#: Processes and threads, gVisor's own left out.
MAX_PIDS = 4096
#: Label with the digest of what a container was asked to be; read back with the rest.
SPEC_LABEL = "runner.spec"
#: Under memory pressure the kernel ends an agent before it ends anything of the host.
OOM_SCORE = 500

_TARGETS = (WORKSPACE, GATEWAY, SESSION)
_MIB = 1024 * 1024
_IMAGE = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KERNEL = ("/proc", "/sys", "/dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A host directory seen in the container, always read-only and without what is mounted beneath it."""

    source: Path
    target: PurePosixPath


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """One container. There is no field for a device, a capability, a network, a port or a writable mount.

    Raises:
        SandboxError: A value that no agent's container may have.
    """

    image: str  #: "sha256:…", never a name: names move
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    uid: int
    mounts: tuple[Mount, ...]
    memory: int  #: bytes; swap is off
    cpus: float
    pids: int
    seccomp: str  #: text of our own list
    labels: Mapping[str, str]
    runtime: str | None = None
    workdir: PurePosixPath = WORKSPACE
    nofile: int = 4096
    home_bytes: int = 128 * _MIB
    temporary_bytes: int = 128 * _MIB
    shared_bytes: int = 16 * _MIB

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", MappingProxyType(dict(self.environment)))
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        for fault in (
            _identity_fault(self),
            _environment_fault(self.environment),
            _mount_fault(self.mounts),
            _limit_fault(self),
        ):
            if fault is not None:
                raise SandboxError(f"cannot build a sandbox: {fault}")

    def digest(self) -> Digest:
        """What was asked for, as one digest; labels name the run and are no part of it."""
        fields: dict[str, Json] = {
            "image": self.image,
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "uid": self.uid,
            "workdir": str(self.workdir),
            "mounts": [[str(mount.source), str(mount.target)] for mount in self.mounts],
            "tmpfs": dict(self.tmpfs()),
            "limits": [self.memory, str(self.cpus), self.pids, self.nofile, self.shared_bytes],
            "seccomp": hashlib.sha256(self.seccomp.encode()).hexdigest(),
            "runtime": self.runtime,
        }
        return digest_json("runner.sandbox.v1", fields)

    @property
    def kernel(self) -> Kernel:
        """Whose kernel it runs on."""
        return kernel_of(self.runtime)

    @property
    def shares_kernel(self) -> bool:
        """Whether the host's kernel knows the container's processes, mounts and devices as its own."""
        return self.kernel is Kernel.HOST

    def tmpfs(self) -> dict[str, str]:
        """The only places that can be written, and their mount options."""
        flags = "rw,noexec,nosuid,nodev"
        return {
            str(HOME): f"{flags},size={self.home_bytes},nr_inodes={INODES},uid={self.uid},gid={self.uid},mode=0700",
            str(TEMPORARY): f"{flags},size={self.temporary_bytes},nr_inodes={INODES},mode=1777",
        }


def create_kwargs(spec: SandboxSpec) -> dict[str, Any]:
    """The body of the engine's create request. A plain value: the engine's client adds nothing to it."""
    return {
        "Image": spec.image,
        "Entrypoint": list(PROBE),
        "Cmd": list(spec.argv),
        "Env": sorted(f"{name}={value}" for name, value in spec.environment.items()),
        "User": f"{spec.uid}:{spec.uid}",
        "WorkingDir": str(spec.workdir),
        "Hostname": HOSTNAME,
        "Labels": {**spec.labels, SPEC_LABEL: spec.digest()},
        "Tty": False,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": True,
        "StopTimeout": 1,
        "HostConfig": host_config(spec),
    }


def host_config(spec: Confined) -> dict[str, Any]:
    """The hardening half of the create request; `inspection` compares each of its keys with the engine's answer."""
    return {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={spec.seccomp}"],
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "Init": True,
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "AutoRemove": False,
        "LogConfig": {"Type": "none", "Config": {}},
        "Memory": spec.memory,
        "MemorySwap": spec.memory,
        "NanoCpus": int(spec.cpus * 1_000_000_000),
        "PidsLimit": spec.pids,
        "OomKillDisable": False,
        "OomScoreAdj": OOM_SCORE,
        "ShmSize": spec.shared_bytes,
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "nofile", "Soft": spec.nofile, "Hard": spec.nofile}],
        "Tmpfs": spec.tmpfs(),
        "Mounts": [
            {
                "Type": "bind",
                "Source": str(mount.source),
                "Target": str(mount.target),
                "ReadOnly": True,
                # A mount beneath the source would stay writable under a read-only one (measured, case 107).
                "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
            }
            for mount in spec.mounts
        ],
        **({} if spec.runtime is None else {"Runtime": spec.runtime}),
    }


def _identity_fault(spec: SandboxSpec) -> str | None:
    if not FIRST_UID <= spec.uid <= LAST_UID:
        return f"uid {spec.uid} is not one reserved for agents ({FIRST_UID} to {LAST_UID})"
    if _IMAGE.fullmatch(spec.image) is None:
        return "the image is not named by its digest"
    if spec.workdir != WORKSPACE:
        return f"the working directory is not {WORKSPACE}"
    if not spec.argv or any("\0" in word for word in spec.argv):
        return "there is no command, or it holds a NUL"
    try:
        profile = json.loads(spec.seccomp)
    except ValueError:
        profile = None
    if not isinstance(profile, dict) or profile.get("defaultAction") != "SCMP_ACT_ERRNO":
        return "the seccomp list does not refuse by default"
    return None


def _environment_fault(environment: Mapping[str, str]) -> str | None:
    for name, value in environment.items():
        if _NAME.fullmatch(name) is None or "\0" in value or "\n" in value:
            return "an environment variable has an odd name or a line break in its value"
        if name.startswith("LD_") or name in {"ENV", "BASH_ENV", "IFS", "CLAUDECODE"}:
            return f"{name} would change the first process itself"
    search = environment.get("PATH", "")
    if not search or any(not part.startswith("/") for part in search.split(":")):
        return "PATH is missing or not made of absolute directories"
    if environment.get("HOME") != str(HOME):
        return f"HOME is not {HOME}"
    return None


def _mount_fault(mounts: tuple[Mount, ...]) -> str | None:
    targets = [mount.target for mount in mounts]
    if len(set(targets)) != len(targets) or not {WORKSPACE, GATEWAY} <= set(targets) <= set(_TARGETS):
        return f"it must mount {WORKSPACE} and {GATEWAY} once, {SESSION} if need be, and nothing else"
    for mount in mounts:
        source = str(mount.source)
        if not source.startswith("/") or "\0" in source or ".." in mount.source.parts:
            return "a mount's source is not a real, absolute path"
        if (
            source.endswith(".sock")
            or len(mount.source.parts) < 3
            or any(mount.source.is_relative_to(kernel) for kernel in _KERNEL)
        ):
            return f"{source} may never be mounted"
    return None


def _limit_fault(spec: SandboxSpec) -> str | None:
    sane = (
        spec.memory >= 64 * _MIB
        and 0 < spec.cpus <= 256
        and 8 <= spec.pids <= MAX_PIDS + threads_of(spec.kernel)
        and spec.nofile >= 64
    )
    return None if sane else "a limit is missing or makes no sense"
