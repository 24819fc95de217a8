"""A sandbox that would be weaker than asked cannot even be written down (M1, G5, case 106)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from annotated_types import Le

from runner.errors import SandboxError
from runner.model import WORKSPACE
from runner.profiles.wire import LimitsTable
from runner.sandbox.kernels import kernel_of, threads_of
from runner.sandbox.spec import GATEWAY, MAX_PIDS, SESSION, Mount, create_kwargs
from tests.unit.sandbox.cases import SECCOMP, a_spec

SNAPSHOT = Mount(source=Path("/srv/state/snapshot"), target=WORKSPACE)
DOOR = Mount(source=Path("/srv/state/gateway"), target=GATEWAY)
HOME = {"PATH": "/usr/bin", "HOME": "/home/agent"}

REFUSED = {
    "root": {"uid": 0},
    "a person's uid": {"uid": 1000},
    "a uid past the reserved ones": {"uid": 11000},
    "a workdir elsewhere": {"workdir": PurePosixPath("/proc/self/cwd")},
    "a workdir beneath": {"workdir": WORKSPACE / "sub"},
    "an image by name": {"image": "runner-sandbox:latest"},
    "no command": {"argv": ()},
    "a NUL in the command": {"argv": ("sh", "a\0b")},
    "no seccomp list": {"seccomp": "unconfined"},
    "the engine's own list by a name": {"seccomp": "default"},
    "a list that allows by default": {"seccomp": '{"defaultAction": "SCMP_ACT_ALLOW"}'},
    "no snapshot": {"mounts": (DOOR,)},
    "no gateway": {"mounts": (SNAPSHOT,)},
    "a mount twice": {"mounts": (SNAPSHOT, SNAPSHOT, DOOR)},
    "a mount elsewhere": {"mounts": (SNAPSHOT, DOOR, Mount(source=Path("/srv/x"), target=PurePosixPath("/etc")))},
    "the host's root": {"mounts": (Mount(source=Path("/"), target=WORKSPACE), DOOR)},
    "a top directory": {"mounts": (Mount(source=Path("/home"), target=WORKSPACE), DOOR)},
    "procfs": {"mounts": (Mount(source=Path("/proc/self/cwd"), target=WORKSPACE), DOOR)},
    "sysfs": {"mounts": (Mount(source=Path("/sys/fs/cgroup"), target=WORKSPACE), DOOR)},
    "devices": {"mounts": (Mount(source=Path("/dev/shm/x"), target=WORKSPACE), DOOR)},
    "the engine's socket": {"mounts": (SNAPSHOT, Mount(source=Path("/var/run/docker.sock"), target=GATEWAY))},
    "another runtime's socket": {"mounts": (SNAPSHOT, Mount(source=Path("/run/containerd/containerd.sock"), target=GATEWAY))},
    "a relative source": {"mounts": (Mount(source=Path("snapshot"), target=WORKSPACE), DOOR)},
    "a source that climbs": {"mounts": (Mount(source=Path("/srv/../etc/x"), target=WORKSPACE), DOOR)},
    "a preloaded library": {"environment": {**HOME, "LD_PRELOAD": "/workspace/x.so"}},
    "a name with an equals sign": {"environment": {**HOME, "A=B": "x"}},
    "a value with a line break": {"environment": {**HOME, "A": "x\nUID=0"}},
    "a sign of another CLI": {"environment": {**HOME, "CLAUDECODE": "1"}},
    "no search path": {"environment": {"HOME": "/home/agent"}},
    "a search path with the workspace's dot": {"environment": {**HOME, "PATH": "/usr/bin:."}},
    "an empty part of the search path": {"environment": {**HOME, "PATH": "/usr/bin::/bin"}},
    "a home elsewhere": {"environment": {**HOME, "HOME": "/workspace"}},
    "no memory limit": {"memory": 0},
    "unlimited memory": {"memory": -1},
    "no cpu limit": {"cpus": 0.0},
    "no process limit": {"pids": -1},
    "more processes than a profile may ask for": {"pids": MAX_PIDS + 1},
    "more than even gVisor's own threads need": {"pids": MAX_PIDS + 385, "runtime": "runsc"},
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_weakened_spec_cannot_be_built(case):
    with pytest.raises(SandboxError, match="cannot build a sandbox"):
        a_spec(**REFUSED[case])


def test_whatever_process_limit_a_profile_may_have_can_be_built_under_any_runtime():
    most = next(one.le for one in LimitsTable.model_fields["pids"].metadata if isinstance(one, Le))
    assert most == MAX_PIDS
    for runtime in ("runc", "runsc", "kata"):
        assert a_spec(pids=most + threads_of(kernel_of(runtime)), runtime=runtime)


def test_a_spec_in_order_is_built_with_and_without_a_transcript():
    session = Mount(source=Path("/srv/state/session"), target=SESSION)
    assert a_spec(mounts=(SNAPSHOT, DOOR, session)).uid == 10007


def test_what_is_asked_of_the_engine():
    """The whole request, word for word: a change here is a change of the wall."""
    assert create_kwargs(a_spec()) == {
        "Image": "sha256:" + "1" * 64,
        "Entrypoint": ["/bin/sh", "/usr/local/lib/runner/probe.sh"],
        "Cmd": ["claude", "--version"],
        "Env": ["ANTHROPIC_API_KEY=none", "HOME=/home/agent", "PATH=/usr/bin:/bin"],
        "User": "10007:10007",
        "WorkingDir": "/workspace",
        "Hostname": "sandbox",
        "Labels": {"runner.state": "s", "runner.spec": a_spec().digest()},
        "Tty": False,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": True,
        "StopTimeout": 1,
        "HostConfig": {
            "NetworkMode": "none",
            "ReadonlyRootfs": True,
            "Privileged": False,
            "CapAdd": [],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges", f"seccomp={SECCOMP}"],
            "IpcMode": "private",
            "CgroupnsMode": "private",
            "PidMode": "",
            "UTSMode": "",
            "Init": True,
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
            "AutoRemove": False,
            "LogConfig": {"Type": "none", "Config": {}},
            "Memory": 1024**3,
            "MemorySwap": 1024**3,
            "NanoCpus": 1_000_000_000,
            "PidsLimit": 128,
            "OomKillDisable": False,
            "OomScoreAdj": 500,
            "ShmSize": 16 * 1024**2,
            "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "nofile", "Soft": 4096, "Hard": 4096}],
            "Tmpfs": {
                "/home/agent": "rw,noexec,nosuid,nodev,size=134217728,nr_inodes=16384,uid=10007,gid=10007,mode=0700",
                "/tmp": "rw,noexec,nosuid,nodev,size=134217728,nr_inodes=16384,mode=1777",
            },
            "Mounts": [
                {
                    "Type": "bind",
                    "Source": source,
                    "Target": target,
                    "ReadOnly": True,
                    "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
                }
                for source, target in (("/srv/state/snapshot", "/workspace"), ("/srv/state/gateway", "/run/gateway"))
            ],
        },
    }


def test_home_is_a_scratch_of_its_own_and_nothing_is_mounted_in_it() -> None:
    """G1: over a read-only home, or a `.claude.json` that is a mount, the CLI hangs or says that nobody is logged in."""
    session = Mount(source=Path("/srv/state/session"), target=SESSION)
    for spec in (a_spec(), a_spec(mounts=(SNAPSHOT, DOOR, session))):
        body = create_kwargs(spec)
        assert "HOME=/home/agent" in body["Env"]
        options = body["HostConfig"]["Tmpfs"]["/home/agent"].split(",")
        assert {"rw", f"uid={spec.uid}", "mode=0700"} <= set(options)
        targets = [PurePosixPath(mount["Target"]) for mount in body["HostConfig"]["Mounts"]]
        assert [target for target in targets if target.is_relative_to("/home/agent")] == []
    inside = Mount(source=Path("/srv/state/session"), target=PurePosixPath("/home/agent/.claude.json"))
    with pytest.raises(SandboxError):
        a_spec(mounts=(SNAPSHOT, DOOR, inside))


def test_the_digest_covers_every_field_but_the_labels():
    base = a_spec().digest()
    changes = [
        {"image": "sha256:" + "2" * 64},
        {"argv": ("claude",)},
        {"environment": {**HOME, "A": "1"}},
        {"uid": 10008},
        {"mounts": (Mount(source=Path("/srv/state/other"), target=WORKSPACE), DOOR)},
        {"memory": 2**31},
        {"cpus": 2.0},
        {"pids": 64},
        {"seccomp": SECCOMP + " "},
        {"runtime": "runsc"},
        {"nofile": 1024},
        {"home_bytes": 1},
        {"temporary_bytes": 1},
        {"shared_bytes": 1},
    ]
    digests = [a_spec(**change).digest() for change in changes]
    assert len({base, *digests}) == len(changes) + 1
    assert a_spec(labels={"runner.state": "other"}).digest() == base


def test_a_spec_does_not_change_with_the_mapping_it_was_built_from():
    environment = dict(HOME)
    spec = a_spec(environment=environment)
    environment["LD_PRELOAD"] = "/x"
    assert dict(spec.environment) == HOME
