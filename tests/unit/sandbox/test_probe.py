"""Each thing that is not in force is a discrepancy; a report that is none is one too (M2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.errors import SandboxMismatchError
from runner.model import WORKSPACE
from runner.sandbox.probe import SPACES, HostView, discrepancies, parse_report
from runner.sandbox.spec import GATEWAY, Mount, SandboxSpec, create_kwargs
from tests.helpers.fake_engine import a_report
from tests.unit.sandbox.cases import a_spec


@pytest.fixture
def spec(tmp_path: Path) -> SandboxSpec:
    for name in ("snapshot", "gateway"):
        (tmp_path / name).mkdir()
    return a_spec(
        mounts=(Mount(source=tmp_path / "snapshot", target=WORKSPACE), Mount(source=tmp_path / "gateway", target=GATEWAY))
    )


def host_view(report: dict[str, Any]) -> HostView:
    places = {name: place for name, place in report["places"].items() if place != "?"}
    return HostView(places=places, spaces=dict.fromkeys(SPACES, "2"))


def status(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda report: report["status"].update(changes)


def mounted(target: str, access: str, kind: str) -> Callable[[dict[str, Any]], None]:
    def change(report: dict[str, Any]) -> None:
        report["mounts"] = [entry for entry in report["mounts"] if entry[0] != target] + [[target, access, kind]]

    return change


def limit(**changes: str) -> Callable[[dict[str, Any]], None]:
    return lambda report: report["limits"].update(changes)


CHANGES: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("Uid", status(Uid=["0", "0", "0", "0"])),
    ("Uid", status(Uid=["10007", "0", "10007", "10007"])),
    ("Gid", status(Gid=["0", "0", "0", "0"])),
    ("Groups", status(Groups=["10007", "999"])),
    ("CapBnd", status(CapBnd=["00000000a80425fb"])),
    ("CapEff", status(CapEff=["0000000000002000"])),
    ("CapPrm", status(CapPrm=["0000000000002000"])),
    ("CapInh", status(CapInh=["0000000000002000"])),
    ("CapAmb", status(CapAmb=[])),
    ("NoNewPrivs", status(NoNewPrivs=["0"])),
    ("Seccomp", status(Seccomp=["0"])),
    ("seccomp list", lambda report: report.update(canary="allowed")),
    ("mount /", mounted("/", "rw", "overlay")),
    ("mount /workspace", mounted("/workspace", "rw", "ext4")),
    ("mount /run/gateway", mounted("/run/gateway", "rw", "ext4")),
    ("mount /home/agent", mounted("/home/agent", "rw,nosuid,nodev", "tmpfs")),
    ("mount /tmp", mounted("/tmp", "rw,nosuid,nodev,noexec", "ext4")),
    ("mount /sys", mounted("/sys", "rw", "sysfs")),
    ("mount /proc/sys", mounted("/proc/sys", "rw", "proc")),
    ("mount /data", mounted("/data", "ro", "ext4")),
    ("mount /workspace/sub", mounted("/workspace/sub", "rw", "ext4")),
    ("mount /run/docker.sock", mounted("/run/docker.sock", "ro", "tmpfs")),
    ("mount ?", mounted("?", "ro", "ext4")),
    ("mount /dev/sda", mounted("/dev/sda", "rw", "tmpfs")),
    ("mount /workspace (times 2)", lambda report: report["mounts"].append(["/workspace", "ro", "ext4"])),
    ("mount /workspace (times 0)", lambda report: report["mounts"].remove(["/workspace", "ro", "ext4"])),
    ("network device", lambda report: report["devices"].append("eth0")),
    ("route", lambda report: report.update(routes=1)),
    ("environment", lambda report: report["names"].append("SECRET")),
    ("environment", lambda report: report["names"].remove("HOME")),
    ("environment", lambda report: report["names"].append("HOME")),
    ("limit memory", limit(memory="max")),
    ("limit pids", limit(pids="max")),
    ("limit core", limit(core="unlimited")),
    ("limit nofile", limit(nofile="1048576")),
    ("limit cpu", limit(cpu="-1/100000")),
    ("limit cpu", limit(cpu="max/100000")),
    ("limit cpu", limit(cpu="?")),
    ("device node", lambda report: report["nodes"].append("kvm")),
    ("Seccomp_filters", status(Seccomp_filters=["0"])),
    ("namespace cgroup", lambda report: report["spaces"].update(cgroup="2")),
    ("namespace net", lambda report: report["spaces"].update(net="2")),
    ("namespace pid", lambda report: report["spaces"].update(pid="?")),
    ("place /workspace", lambda report: report["places"].update({"/workspace": "1:2"})),
    ("place /run/gateway", lambda report: report["places"].pop("/run/gateway")),
]


def test_what_was_asked_is_in_force(spec):
    report = a_report(create_kwargs(spec))
    assert discrepancies(spec, report, host=host_view(report)) == ()


@pytest.mark.parametrize(("what", "change"), CHANGES)
def test_each_thing_not_in_force_is_named(spec, what, change):
    report: dict[str, Any] = a_report(create_kwargs(spec))
    view = host_view(report)
    change(report)
    assert discrepancies(spec, report, host=view) == (what,)


@pytest.mark.parametrize(
    "missing", ["status", "mounts", "devices", "nodes", "routes", "names", "canary", "places", "spaces", "limits"]
)
def test_a_report_that_leaves_something_out_is_refused(spec, missing):
    report = a_report(create_kwargs(spec))
    view = host_view(report)
    del report[missing]
    assert discrepancies(spec, report, host=view) == ("the report is incomplete",)


@pytest.mark.parametrize("value", [None, 1, "x", [1], [["/"]], {"a": 1}])
@pytest.mark.parametrize(
    "key", ["status", "mounts", "devices", "nodes", "routes", "names", "canary", "places", "spaces", "limits"]
)
def test_a_value_of_another_shape_is_a_discrepancy_and_no_crash(spec, key, value):
    report = a_report(create_kwargs(spec))
    view = host_view(report)
    report[key] = value
    assert discrepancies(spec, report, host=view) != ()


def test_without_the_hosts_own_view_nothing_is_proven(spec):
    report = a_report(create_kwargs(spec))
    assert discrepancies(spec, report, host=HostView(places={}, spaces={})) == ("place /workspace",)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b"1",
        b'{"probe":2}',
        b'{"type":"system"}',
        b'{"probe":1,"probe":1}',
        b"\xff",
        b'{"probe":1',
    ],
)
def test_a_line_that_is_no_report_is_refused(line):
    with pytest.raises(SandboxMismatchError):
        parse_report(line)


def test_a_report_is_read_as_it_is(spec):
    report = a_report(create_kwargs(spec))
    assert parse_report(json.dumps(report).encode()) == report
