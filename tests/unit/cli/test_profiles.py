"""profile check and publish: what is wrong with a file is said before anybody is asked to use it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fake_service import FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
GOOD = """schema = 1
name = "tester"
description = "Reads"
kind = "claude-sdk"
model = "claude-sonnet-4-5"
system_prompt = "Read."
cwd = "{cwd}"
tools = ["Read"]
{more}
"""


def a_file(folder: Path, *, cwd: Path | None = None, more: str = "") -> str:
    path = folder / "tester.toml"
    own = folder / "own"
    own.mkdir(exist_ok=True)
    path.write_text(GOOD.format(cwd=cwd or own, more=more))
    return str(path)


def test_a_good_profile_is_fine_without_a_supervisor(run: Run, tmp_path: Path) -> None:
    ran = run("profile", "check", a_file(tmp_path))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "fine tester: 1 tools, 0 examples hold"
    row = run("profile", "check", a_file(tmp_path), "--json").json["profiles"][0]
    assert (row["ok"], row["name"], row["digest"][:7]) == (True, "tester", "sha256:")


@pytest.mark.parametrize(
    "more",
    [
        "colour = 'red'",
        "policy = 'everything'",
        "[[examples]]\ntool = 'Read'\ninput = { file_path = 'x' }\nexpect = 'deny'",
        "\x00",
        "description = 'again'",
        "#" * 300_000,
    ],
    ids=["unknown key", "unknown value", "wrong example", "no TOML", "a key twice", "too large"],
)
def test_a_wrong_profile_is_refused_with_a_hint(more: str, run: Run, service: FakeService, tmp_path: Path) -> None:
    """Issue 2, Bad input; exit code 2."""
    file = a_file(tmp_path, more=more)
    for command in ("check", "publish"):
        ran = run("profile", command, file)
        assert ran.code == 2
        assert ran.err.startswith("runner: cannot use profile ")
        assert ran.err.splitlines()[1].startswith("hint: ")
    assert service.decisions == []


def test_a_missing_directory_is_an_error_of_the_check(run: Run, service: FakeService, tmp_path: Path) -> None:
    file = a_file(tmp_path, cwd=tmp_path / "gone")
    for command in ("check", "publish"):
        ran = run("profile", command, file)
        assert ran.code == 2
        assert "cwd: the directory does not exist" in ran.err
    assert service.decisions == []


def test_several_files_are_all_looked_at(run: Run, tmp_path: Path) -> None:
    ran = run("profile", "check", str(tmp_path / "none.toml"), a_file(tmp_path), "--json")
    assert ran.code == 2
    assert [row["ok"] for row in ran.json["profiles"]] == [False, True]
    assert json.loads(ran.err)["error"]["code"] == "profile"


def test_publish_hands_the_checked_profile_over(run: Run, service: FakeService, tmp_path: Path) -> None:
    ran = run("profile", "publish", a_file(tmp_path), "--json")
    name, found = service.asked[0]
    assert (ran.code, name) == (0, "publish")
    profile, _ = found  # type: ignore[misc]
    assert ran.json == {"name": "tester", "digest": profile.digest}
    assert profile.tools == ("Read",)


def test_an_unpublished_name_is_not_found(run: Run, service: FakeService) -> None:
    assert run("profile", "show", "nobody").code == 3
