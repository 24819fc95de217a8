"""Every check of `runner doctor` as a table: facts in, level and fix out (issue 3 item 3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.sandbox.engine import EngineInfo, ImageInfo
from runner.supervisor.health import GIB, MIB, Check, Container, EngineFacts, Facts, Level, Trouble, examine

INFO = EngineInfo(
    version="27.0",
    api_version="1.46",
    runtimes=("runc", "runsc"),
    security=("name=apparmor", "name=seccomp,profile=builtin", "name=userns"),
    cgroup_version="2",
    memory=8 * GIB,
    cpus=4,
    runc="1.3.3",
    root="/var/lib/docker",
)
IMAGE = ImageInfo(id="i", tag="runner-sandbox:latest", content_digest="d", size=1, cli_version="2.1.332", base="b")
ENGINE = EngineFacts(info=INFO, image=IMAGE, room=50 * GIB)
FINE = Facts(
    supervisor=7,
    answers=True,
    state_dir=Path("/state"),
    room=50 * GIB,
    memory=8 * GIB,
    database="whole",
    agents=2,
    model="anthropic",
    engine=ENGINE,
    cli_version="2.1.332",
)
ONE = Container("c" * 64, "running")


def level_of(facts: Facts, name: str) -> Level:
    (found,) = [check for check in examine(facts) if check.name == name]
    return found.level


def engine(**changes: object) -> Facts:
    return replace(FINE, engine=replace(ENGINE, **changes))  # type: ignore[arg-type]


def info(**changes: object) -> Facts:
    return engine(info=replace(INFO, **changes))  # type: ignore[arg-type]


def test_where_everything_is_fine_every_check_says_so() -> None:
    assert {check.name: check.level for check in examine(FINE)} == dict.fromkeys(
        [
            "supervisor",
            "state directory",
            "database",
            "disk of the state directory",
            "memory",
            "uids of agents",
            "model",
            "engine",
            "runtime",
            "runc",
            "seccomp",
            "AppArmor",
            "user namespace",
            "cgroups",
            "disk of the engine",
            "sandbox image",
            "containers",
        ],
        Level.FINE,
    )
    assert all(check.fix is None for check in examine(FINE))


F, N, W = Level.FINE, Level.NOTE, Level.WRONG
TROUBLE = Trouble("cannot x", "do y")
CASES = [
    ("supervisor", replace(FINE, supervisor=None, answers=False), N),
    ("supervisor", replace(FINE, answers=False), W),
    ("supervisor", replace(FINE, supervisor=0, answers=False), W),
    ("state directory", replace(FINE, state=TROUBLE), W),
    ("state directory", replace(FINE, exists=False), N),
    ("database", replace(FINE, database=TROUBLE), W),
    ("database", replace(FINE, database="absent"), N),
    ("database", replace(FINE, database="elsewhere"), N),
    ("disk of the state directory", replace(FINE, room=512 * MIB - 1), W),
    ("disk of the state directory", replace(FINE, room=512 * MIB), N),
    ("disk of the state directory", replace(FINE, room=2 * GIB), F),
    ("memory", replace(FINE, memory=100 * MIB), W),
    ("memory", replace(FINE, memory=GIB), N),
    ("uids of agents", replace(FINE, users=((10001, "anna"),)), W),
    ("uids of agents", replace(FINE, users=((10002, "anna"),)), W),
    ("uids of agents", replace(FINE, users=((10003, "anna"),)), N),
    ("uids of agents", replace(FINE, agents=0, users=((10001, "anna"),)), W),
    ("model", replace(FINE, supervisor=None, answers=False, model=TROUBLE), W),
    ("model", replace(FINE, model=TROUBLE), N),
    ("engine", info(api_version="1.40"), W),
    ("engine", info(api_version="1.9"), W),
    ("engine", info(api_version="unknown"), W),
    ("engine", info(api_version="1.41"), F),
    ("runtime", replace(FINE, runtime="kata"), W),
    ("runtime", replace(FINE, runtime="runsc"), W),
    ("runtime", replace(info(options={"runsc": ("--oci-seccomp",)}), runtime="runsc"), W),
    ("runtime", replace(info(options={"runsc": ("--host-uds=open",)}), runtime="runsc"), W),
    ("runtime", replace(info(options={"runsc": ("--oci-seccomp", "--host-uds=open")}), runtime="runsc"), N),
    ("runtime", replace(info(options={"runsc": ("-oci-seccomp=true", "--fsgofer-host-uds")}), runtime="runsc"), N),
    ("runtime", replace(info(options={"runsc": ("--oci-seccomp=false", "--host-uds=open")}), runtime="runsc"), W),
    ("runtime", replace(info(runtimes=("runc", "kata")), runtime="kata"), N),
    ("runc", info(runc="1.1.11"), W),
    ("runc", info(runc="1.1.12"), W),
    ("runc", info(runc="1.1.5+ds1-1+deb12u1"), N),
    ("runc", info(runc="1.1.5+ds1-1+deb12u0"), W),
    ("runc", info(runc=""), N),
    ("seccomp", info(security=()), W),
    ("seccomp", info(security=("name=seccompish",)), W),
    ("AppArmor", info(security=("name=seccomp",)), N),
    ("AppArmor", info(security=("name=seccomp", "name=selinux")), F),
    ("user namespace", info(security=("name=seccomp", "name=rootless")), F),
    ("user namespace", info(security=("name=seccomp",)), N),
    ("cgroups", info(cgroup_version="1"), N),
    ("disk of the engine", engine(room=None), N),
    ("disk of the engine", engine(room=GIB - 1), W),
    ("disk of the engine", engine(room=4 * GIB), N),
    ("sandbox image", engine(image=None), W),
    ("sandbox image", replace(FINE, cli_version="9.9.9"), W),
    ("containers", replace(engine(containers=(ONE,)), busy=1), F),
    ("containers", engine(containers=(ONE,)), N),
    ("containers", engine(containers=(Container("w", "paused"),)), F),
    ("room for an agent", replace(FINE, short="memory is short"), N),
    ("containers", replace(engine(containers=(ONE,)), supervisor=None, answers=False), W),
    ("containers", replace(engine(containers=(Container("d", "dead"),)), busy=1), W),
    ("containers", replace(engine(containers=(Container("d", "removing"),)), busy=1), W),
    ("containers", replace(engine(containers=(Container("d", "stuck"),)), busy=1), W),
]


@pytest.mark.parametrize(("name", "facts", "level"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_each_fault_is_found_and_nothing_else_with_it(name: str, facts: Facts, level: Level) -> None:
    assert level_of(facts, name) is level
    others = {check.name: check.level for check in examine(facts) if check.name != name and check.level is W}
    assert others == {} or facts.supervisor is None


@pytest.mark.parametrize("facts", [facts for _, facts, level in CASES if level is W])
def test_whatever_is_wrong_comes_with_its_fix(facts: Facts) -> None:
    assert all(check.fix for check in examine(facts) if check.level is Level.WRONG)


def test_without_an_engine_nothing_is_said_about_it_but_that() -> None:
    found = examine(replace(FINE, engine=TROUBLE))
    assert found[-1] == Check(name="engine", level=Level.WRONG, found="cannot x", fix="do y")
    assert len(found) == 8


def test_a_debian_version_is_said_to_be_one() -> None:
    (found,) = [check for check in examine(info(runc="1.1.5+ds1-1+deb12u1")) if check.name == "runc"]
    assert found.found.startswith("1.1.5+ds1-1+deb12u1: distribution version, patched per Debian; ")
    assert "CVE-2024-21626" not in found.found
