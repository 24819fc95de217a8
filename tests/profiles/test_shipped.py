"""Every shipped profile loads, its examples hold, and nothing about it refuses publishing."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.model import Policy, Verdict
from runner.paths import omission
from runner.profiles import Level, check, from_json, load, survey, to_json
from runner.resources import profiles_dir

SHIPPED = sorted(profiles_dir().glob("*.toml"))


def test_reader_and_scribe_are_shipped() -> None:
    """Issue 2 item 13."""
    assert {path.stem for path in SHIPPED} >= {"reader", "scribe"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_is_publishable_and_a_model_to_copy(path: Path) -> None:
    """Hosted default: strict and read_only, with an allow and a deny among its examples."""
    profile = load(path, shipped=True)

    assert profile.name == path.stem
    assert (profile.strict, profile.policy, profile.allow_replies) == (True, Policy.READ_ONLY, False)
    assert {Verdict.ALLOW, Verdict.DENY} <= {example.expect for example in profile.examples}
    assert [finding for finding in check(profile) if finding.level is not Level.NOTE] == []
    assert from_json(to_json(profile)) == profile


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_its_folder_is_shipped_beside_it_and_holds_something_to_read(path: Path) -> None:
    profile = load(path)

    assert profile.cwd == path.parent / path.stem
    assert survey(profile).files >= 3
    for file in profile.cwd.rglob("*"):
        if file.is_file():
            assert omission(file.relative_to(profile.cwd).parts, read=profile.read, hide=profile.hide) is None


def test_the_tools_of_both() -> None:
    tools = {path.stem: load(path).tools for path in SHIPPED}

    assert tools["reader"] == ("Read", "Glob", "Grep")
    assert tools["scribe"] == ("Read", "Glob", "Grep", "Write", "Edit")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_same_file_elsewhere_must_name_an_absolute_directory(path: Path, tmp_path: Path) -> None:
    """Cli.md: `./…` is for shipped examples; a copy of one is loaded as such or not at all."""
    copy = tmp_path / path.name
    copy.write_text(path.read_text())

    with pytest.raises(Exception, match="must be absolute"):
        load(copy)
    assert load(copy, shipped=True).cwd == tmp_path / path.stem
