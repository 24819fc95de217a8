"""Under gvisor the proof is another one, and as strict as can be; no difference holds under any other runtime (M2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from runner.model import Limits
from runner.resources import sandbox_dir
from runner.sandbox.kernels import DIFFERENCES, Kernel, calls_for, kernel_of
from runner.sandbox.launch import spec_for
from runner.sandbox.probe import SPACES, HostView, discrepancies
from runner.sandbox.sentry import APART, Beneath, Sentry, sentry_faults
from tests.helpers.sandbox_fixtures import an_order
from tests.unit.sandbox.cases import a_spec
from tests.unit.sandbox.recorded import CONTAINER, a_gvisor_report, a_sentry, mounted

SPEC = a_spec(runtime="runsc")
HOST = HostView(places={"/workspace": "1:2"}, spaces={**dict.fromkeys(SPACES, "4026531839"), "user": "4026531837"})
LISTED = (sandbox_dir() / "seccomp.json").read_text()
Change = Callable[[dict[str, Any]], Any]


def inside(change: Change = lambda _: None, *, runtime: str = "runsc") -> tuple[str, ...]:
    report = a_gvisor_report()
    change(report)
    return discrepancies(a_spec(runtime=runtime), report, host=HOST)


def test_what_debians_runsc_says_of_itself_is_what_was_asked():
    assert inside() == ()


def test_the_same_words_under_any_other_runtime_are_refused():
    """Never weaker under runc; and a kernel that nobody knows is let off nothing."""
    unshown = {"NoNewPrivs", "CapAmb", "mount /tmp", "mount /home/agent", "device node"}
    unshown |= {f"limit {name}" for name in ("memory", "pids", "cpu")}
    for runtime in ("runc", "kata", "crun", "runscx"):
        assert unshown <= set(inside(runtime=runtime)), runtime


def put(table: str, name: str, value: Any) -> Change:
    return lambda report: report[table].update({name: value})


@pytest.mark.parametrize(
    ("found", "change"),
    [
        # What it need not tell must still be right once it is told.
        ("NoNewPrivs", put("status", "NoNewPrivs", ["0"])),
        ("CapAmb", put("status", "CapAmb", ["0000000000002000"])),
        ("limit memory", put("limits", "memory", "1")),
        ("limit pids", put("limits", "pids", "max")),
        ("limit cpu", put("limits", "cpu", "-1/100000")),
        ("namespace mnt", put("spaces", "mnt", "4026531839")),
        # What it tells is asked for as anywhere.
        ("Seccomp", put("status", "Seccomp", ["0"])),
        ("CapBnd", put("status", "CapBnd", ["00000000a80405fb"])),
        ("CapEff", lambda report: report["status"].pop("CapEff")),
        ("Uid", put("status", "Uid", ["0"] * 4)),
        ("seccomp list", lambda report: report.update(canary="allowed")),
        ("limit core", put("limits", "core", "?")),
        ("limit nofile", put("limits", "nofile", "")),
        ("namespace net", put("spaces", "net", "")),
        ("namespace pid", put("spaces", "pid", "?")),
        ("device node", lambda report: report["nodes"].append("kmsg")),
        ("network device", lambda report: report["devices"].append("eth0")),
        (
            "mount /tmp",
            lambda report: (
                report["mounts"].remove(["/tmp", "rw,noexec", "tmpfs"]) or report["mounts"].append(["/tmp", "rw", "tmpfs"])
            ),
        ),
        ("mount /workspace", lambda report: report["mounts"].append(["/workspace", "rw", "9p"])),
        ("mount /", lambda report: report["mounts"].append(["/", "rw", "9p"])),
        ("mount /sys/fs/cgroup/pids", lambda report: report["mounts"].append(["/sys/fs/cgroup/pids", "rw", "cgroup"])),
        ("environment", lambda report: report["names"].append("SECRET")),
    ],
)
def test_what_gvisor_tells_must_be_right(found, change):
    assert found in inside(change)


def faults(change: Callable[[Sentry], Sentry] = lambda seen: seen) -> tuple[str, ...]:
    return sentry_faults(SPEC, change(a_sentry(SPEC)), container=CONTAINER)


def test_what_the_host_sees_beneath_it_is_what_was_asked():
    assert faults() == ()


def server(change: Callable[[Beneath], Beneath]) -> Callable[[Sentry], Sentry]:
    return lambda seen: replace(seen, processes=(change(seen.processes[0]), *seen.processes[1:]))


def kernel(change: Callable[[Beneath], Beneath]) -> Callable[[Sentry], Sentry]:
    return lambda seen: replace(seen, processes=(*seen.processes[:-1], change(seen.processes[-1])))


def status(name: str, *words: str) -> Callable[[Beneath], Beneath]:
    return lambda one: replace(one, status={**one.status, name: list(words)})


def mount(target: str, line: str) -> Callable[[Beneath], Beneath]:
    return lambda one: mounted(one, target, line)


def limits(**changes: Any) -> Callable[[Sentry], Sentry]:
    return lambda seen: replace(seen, limits=replace(seen.limits, **changes))


@pytest.mark.parametrize(
    ("found", "change"),
    [
        ("beneath: NoNewPrivs", kernel(status("NoNewPrivs", "0"))),
        ("beneath: NoNewPrivs", server(status("NoNewPrivs", "0"))),
        ("beneath: Seccomp", kernel(status("Seccomp", "0"))),
        ("beneath: Seccomp", server(status("Seccomp", "0"))),
        ("beneath: root", kernel(status("Uid", "0", "0", "0", "0"))),
        ("beneath: root", kernel(status("Gid", "65534", "0", "65534", "65534"))),
        ("beneath: mounts", kernel(mount("/", "121 92 254:0 / / ro - ext4 /dev/vda rw\n"))),
        ("beneath: mounts", kernel(mount("/", "121 92 0:45 / / rw - tmpfs none rw\n"))),
        ("file servers (times 2)", kernel(mount("/x", "122 92 254:0 /etc /x ro - ext4 /dev/vda rw\n"))),
        ("file servers (times 0)", lambda seen: replace(seen, processes=seen.processes[1:])),
        ("no process is the container's kernel", lambda seen: replace(seen, processes=seen.processes[:1])),
        ("place /workspace", server(mount("/workspace", "97 95 254:0 /srv/state/other /workspace rw - ext4 /dev/vda rw\n"))),
        ("place /workspace", server(mount("/workspace", "97 95 8:1 /srv/state/snapshot /workspace rw - ext4 /dev/sda rw\n"))),
        ("place /workspace", lambda seen: replace(seen, places={"/run/gateway": seen.places["/run/gateway"]})),
        ("place /run/gateway", lambda seen: replace(seen, places={**seen.places, "/run/gateway": None})),
        ("beneath: mount /run/gateway (times 0)", server(mount("/run/gateway", ""))),
        ("beneath: mount /srv", server(mount("/srv", "97 95 254:0 /srv /srv ro - ext4 /dev/vda rw\n"))),
        ("beneath: mount /", server(mount("/", "95 93 0:39 / / rw - overlay overlay rw\n"))),
        ("control group", lambda seen: replace(seen, groups=frozenset({"/docker/other"}))),
        ("network device", lambda seen: replace(seen, devices=frozenset({"lo", "eth0"}))),
        ("limit oom score", lambda seen: replace(seen, oom="0")),
        ("limit memory", limits(memory="max")),
        ("limit pids", limits(pids=None)),
        ("limit swap", limits(swap="max")),
        ("limit cpu", limits(cpu=("-1", "100000"))),
        *(
            (f"namespace {name}", lambda seen, name=name: replace(seen, spaces={**seen.spaces, name: ("a", "a")}))
            for name in APART
        ),
    ],
)
def test_what_the_host_sees_otherwise_is_a_difference(found, change):
    assert found in faults(change)


def test_what_this_user_may_not_look_at_is_named_beside_the_differences():
    seen = a_sentry(SPEC)
    assert seen.unseen == tuple(DIFFERENCES)
    blind = replace(seen, spaces=None)
    assert sentry_faults(SPEC, blind, container=CONTAINER) == ()
    assert blind.unseen == (*DIFFERENCES, "namespaces")


@pytest.mark.parametrize("runtime", [None, "runc", "crun", "kata", "runsc", "runsc-kvm"])
def test_calls_and_limits_are_ours_to_the_letter_but_for_one_call_and_its_own_threads_under_gvisor(tmp_path, runtime):
    image = type("Image", (), {"id": "sha256:" + "1" * 64})()
    spec = spec_for(an_order(tmp_path, image, runtime=runtime), seccomp=LISTED, launch="x")
    listed = spec.seccomp
    assert spec.pids == Limits().pids + (384 if kernel_of(runtime) is Kernel.GVISOR else 0)
    if kernel_of(runtime) is not Kernel.GVISOR:
        assert listed == LISTED
        return
    before, after = json.loads(LISTED), json.loads(listed)
    changed = [(old["names"], new) for old, new in zip(before["syscalls"], after["syscalls"], strict=True) if old != new]
    assert [names for names, _ in changed] == [["clone3"]]
    assert {**before, "syscalls": []} == {**after, "syscalls": []}
    assert calls_for(Kernel.OTHER, LISTED) == LISTED
