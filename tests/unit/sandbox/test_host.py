"""The engine's own words about itself, from engines of several makers."""

from __future__ import annotations

import pytest

from runner.sandbox.host import EngineInfo, parse_info


def version(runc: dict[str, object] | None) -> dict[str, object]:
    parts = [{"Name": "Engine", "Version": "20.10.24"}] + ([{"Name": "runc", **runc}] if runc else [])
    return {"Version": "20.10.24+dfsg1", "ApiVersion": "1.41", "Components": parts}


@pytest.mark.parametrize(
    ("runc", "expected"),
    [
        ({"Version": "1.1.5+ds1", "Details": {"GitCommit": "1.1.5+ds1-1+deb12u1"}}, "1.1.5+ds1-1+deb12u1"),
        ({"Version": "1.1.12-0ubuntu2~22.04.1", "Details": {"GitCommit": ""}}, "1.1.12-0ubuntu2~22.04.1"),
        ({"Version": "1.3.3", "Details": {"GitCommit": "v1.3.3-0-gd842d771"}}, "1.3.3"),
        ({"Version": "1.2.5", "Details": {"GitCommit": "59923ef1"}}, "1.2.5"),
        ({"Version": "1.2.5", "Details": None}, "1.2.5"),
        (None, ""),
    ],
)
def test_runcs_version_is_the_one_that_tells_of_patches(runc: dict[str, object] | None, expected: str) -> None:
    assert parse_info({}, version(runc)).runc == expected


def test_an_engine_that_says_little_is_described_with_what_it_says() -> None:
    assert parse_info({}, {"Version": "4", "ApiVersion": "1.41"}) == EngineInfo(
        version="4", api_version="1.41", runtimes=(), security=(), cgroup_version="1", memory=0, cpus=0
    )


def test_what_a_runtime_is_started_with_is_told_where_it_is_anything() -> None:
    facts = {"Runtimes": {"runc": {"path": "runc"}, "runsc": {"path": "runsc", "runtimeArgs": ["--oci-seccomp"]}}}
    assert parse_info(facts, {"Version": "4", "ApiVersion": "1.41"}).options == {"runsc": ("--oci-seccomp",)}
