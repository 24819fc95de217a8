"""Each flag that the engine did not apply is a difference (M2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runner.sandbox.inspection import differences
from runner.sandbox.spec import create_kwargs
from tests.helpers.fake_engine import FakeContainer, describe
from tests.unit.sandbox.cases import a_spec


def an_answer() -> dict[str, Any]:
    return describe(FakeContainer(id="c", body=create_kwargs(a_spec()), status="running"))


def host(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda answer: answer["HostConfig"].update(changes)


def config(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda answer: answer["Config"].update(changes)


SECCOMP = 'seccomp={"defaultAction": "SCMP_ACT_ERRNO"}'
CHANGES: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("HostConfig.NetworkMode", host(NetworkMode="bridge")),
    ("HostConfig.ReadonlyRootfs", host(ReadonlyRootfs=False)),
    ("HostConfig.Privileged", host(Privileged=True)),
    ("HostConfig.CapAdd", host(CapAdd=["NET_RAW"])),
    ("HostConfig.CapDrop", host(CapDrop=None)),
    ("HostConfig.CapDrop", host(CapDrop=["NET_RAW"])),
    ("HostConfig.SecurityOpt", host(SecurityOpt=None)),
    ("HostConfig.SecurityOpt", host(SecurityOpt=[SECCOMP])),
    ("HostConfig.SecurityOpt", host(SecurityOpt=["no-new-privileges", "seccomp=unconfined"])),
    ("HostConfig.SecurityOpt", host(SecurityOpt=["no-new-privileges", SECCOMP, "apparmor=unconfined"])),
    ("HostConfig.IpcMode", host(IpcMode="host")),
    ("HostConfig.CgroupnsMode", host(CgroupnsMode="host")),
    ("HostConfig.PidMode", host(PidMode="host")),
    ("HostConfig.UTSMode", host(UTSMode="host")),
    ("HostConfig.UsernsMode", host(UsernsMode="host")),
    ("HostConfig.Init", host(Init=False)),
    ("HostConfig.RestartPolicy", host(RestartPolicy={"Name": "always", "MaximumRetryCount": 0})),
    ("HostConfig.LogConfig", host(LogConfig={"Type": "json-file", "Config": {}})),
    ("HostConfig.Memory", host(Memory=0)),
    ("HostConfig.MemorySwap", host(MemorySwap=-1)),
    ("HostConfig.NanoCpus", host(NanoCpus=0)),
    ("HostConfig.PidsLimit", host(PidsLimit=None)),
    ("HostConfig.OomKillDisable", host(OomKillDisable=True)),
    ("HostConfig.ShmSize", host(ShmSize=67108864)),
    ("HostConfig.Ulimits", host(Ulimits=None)),
    ("HostConfig.Ulimits", host(Ulimits=[{"Name": "core", "Soft": -1, "Hard": -1}])),
    ("HostConfig.Tmpfs", host(Tmpfs={"/tmp": ""})),
    ("HostConfig.Binds", host(Binds=["/:/host"])),
    ("HostConfig.Devices", host(Devices=[{"PathOnHost": "/dev/kvm"}])),
    ("HostConfig.GroupAdd", host(GroupAdd=["docker"])),
    ("HostConfig.MaskedPaths", host(MaskedPaths=[])),
    ("HostConfig.ReadonlyPaths", host(ReadonlyPaths=None)),
    ("Config.User", config(User="0:0")),
    ("Config.User", config(User="")),
    ("Config.WorkingDir", config(WorkingDir="/")),
    ("Config.Entrypoint", config(Entrypoint=["/bin/sh"])),
    ("Config.Cmd", config(Cmd=["sh"])),
    ("Config.Env", config(Env=["PATH=/usr/bin:/bin", "HOME=/home/agent"])),
    ("Config.Labels", config(Labels={})),
    ("Config.Volumes", config(Volumes={"/data": {}})),
    ("Config.NetworkDisabled", config(NetworkDisabled=False)),
    ("Image", lambda answer: answer.update(Image="sha256:" + "9" * 64)),
    ("Mounts", lambda answer: answer["Mounts"][0].update(RW=True)),
    ("Mounts", lambda answer: answer["Mounts"][0].update(Source="/srv/other")),
    ("Mounts", lambda answer: answer["Mounts"].append(dict(answer["Mounts"][0]))),
    ("Mounts", lambda answer: answer["Mounts"].pop()),
    ("Mounts", lambda answer: answer.pop("Mounts")),
    ("AppArmorProfile", lambda answer: answer.update(AppArmorProfile="unconfined")),
    ("ExecIDs", lambda answer: answer.update(ExecIDs=["x"])),
    ("NetworkSettings", lambda answer: answer["NetworkSettings"]["Networks"].update(bridge={})),
]


def test_what_was_asked_is_no_difference():
    assert differences(a_spec(), an_answer()) == ()


@pytest.mark.parametrize(("what", "change"), CHANGES)
def test_each_weakened_flag_is_named(what, change):
    answer = an_answer()
    change(answer)
    assert differences(a_spec(), answer) == (what,)


def test_a_mount_that_follows_submounts_is_a_difference():
    answer = an_answer()
    answer["HostConfig"]["Mounts"][0]["BindOptions"]["NonRecursive"] = False
    assert differences(a_spec(), answer) == ("HostConfig.Mounts",)


def test_labels_of_the_image_are_no_difference():
    answer = an_answer()
    answer["Config"]["Labels"]["runner.content"] = "sha256:0"
    assert differences(a_spec(), answer) == ()


@pytest.mark.parametrize("answer", [{}, {"Config": None, "HostConfig": []}, {"Config": "x", "Mounts": {}}])
def test_an_answer_that_says_nothing_is_all_difference(answer):
    assert len(differences(a_spec(), answer)) > 30
