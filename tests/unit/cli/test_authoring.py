"""profile new, diff, retire, schema and show: a skeleton that passes, and what a change means in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.profiles import load, to_json
from tests.helpers.fake_service import FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_a_new_profile_passes_its_check_as_it_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 4 item 5."""
    monkeypatch.chdir(tmp_path)
    assert run("profile", "new", "my-agent").code == 0
    ran = run("profile", "check", "my-agent.toml", "--json")
    row = ran.json["profiles"][0]
    assert (ran.code, ran.err, row["ok"], row["name"]) == (0, "", True, "my-agent")
    assert {finding["level"] for finding in row["findings"]} == {"note"}
    found = load(tmp_path / "my-agent.toml")
    assert (found.cwd, found.strict, len(found.examples)) == (tmp_path / "my-agent", True, 2)


def test_names_and_folders_with_quotes_stay_text(run: Run, tmp_path: Path) -> None:
    odd = tmp_path / 'a "quoted\\ folder'
    assert run("profile", "new", "x", "--cwd", str(odd), "--out", str(tmp_path / "x.toml")).code == 0
    assert load(tmp_path / "x.toml").cwd == odd


def test_nothing_that_is_there_is_written_over(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("mine")
    ran = run("profile", "new", "x", "--out", str(file))
    assert (ran.code, file.read_text()) == (2, "mine")


@pytest.mark.parametrize("name", ["", "No", "a b", "../x", "x" * 41])
def test_a_name_that_no_agent_can_have_makes_nothing(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run("profile", "new", name).code == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_a_difference_is_said_in_words_before_it_is_published(run: Run, service: FakeService, tmp_path: Path) -> None:
    """Issue 4 item 5: "now also writes", "may read more"."""
    file = tmp_path / "scribe.toml"
    run("profile", "new", "scribe", "--out", str(file))
    service.agents.profile_row["profile"] = to_json(load(file))
    assert run("profile", "diff", "scribe", str(file)).out == "nothing changes for scribe\n"
    text = file.read_text().replace('"Edit"]', '"Edit", "CreateFolder"]').replace('read = ["**"]', 'read = ["docs/**"]')
    file.write_text(text.replace("strict = true", "strict = false"))
    ran = run("profile", "diff", "scribe", str(file))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "more   scribe now also writes: CreateFolder",
        "more   scribe no longer strict: what the policy covers or you saved as allowed runs without asking",
        "more   scribe may read more: read has docs/** now",
        "less   scribe may read less: read no longer has **",
    ]
    found = run("profile", "diff", "scribe", str(file), "--json").json
    assert [(row["direction"], row["key"]) for row in found["changes"]] == [
        ("more", "tools"),
        ("more", "strict"),
        ("more", "read"),
        ("less", "read"),
    ]


def test_a_retired_agent_is_said_so_and_an_unknown_one_is_not_found(run: Run, service: FakeService) -> None:
    assert run("profile", "retire", "scribe").out == "retired scribe; runs under way finish\n"
    assert service.asked[-1][0] == "retire"
    assert run("profile", "retire", "nobody").code == 3
    assert run("profile", "diff", "nobody", "/no/such.toml").code == 2


def test_a_profile_is_shown_whole_with_what_is_saved(run: Run, service: FakeService) -> None:
    assert run("profile", "show", "scribe", "--json").json == service.agents.profile_row
    assert "choices" in run("profile", "show", "scribe").out


def test_the_schema_describes_every_key(run: Run) -> None:
    """cli.md: works without a supervisor."""
    schema = run("profile", "schema").json
    described = [name for name, key in schema["properties"].items() if key.get("description")]
    assert described == list(schema["properties"])
    assert {"cwd", "tools", "hide", "strict", "examples"} < set(described)


def test_every_problem_is_said_at_once_with_its_line(run: Run, tmp_path: Path) -> None:
    """Issue 4 item 5: wrong form and wrong meaning together."""
    file = tmp_path / "bad.toml"
    file.write_text('schema = 1\nnamee = "x"\ncwd = "relative"\ntools = ["Raed"]\nstrict = "yes"\nhide = ["#"]\n')
    ran = run("profile", "check", str(file), "--json")
    assert ran.code == 2
    problems = ran.json["profiles"][0]["problems"]
    wanted = {
        f"{file}:2: namee: there is no such key; did you mean name?",
        f"{file}:3: cwd: must be an absolute path; ~ and relative paths are refused",
        f"{file}:4: tools: there is no tool Raed; did you mean Read?",
        f"{file}:5: strict: input should be a valid boolean",
        f"{file}:6: hide: '#' is a comment or blank, and matches nothing",
        f"{file}: description: field required",
    }
    assert wanted - set(problems) == set()
    assert json.loads(ran.err)["error"]["details"].splitlines() == problems


def test_a_finding_has_its_line_and_what_to_do(run: Run, tmp_path: Path) -> None:
    """R63."""
    file = tmp_path / "x.toml"
    run("profile", "new", "x", "--out", str(file))
    file.write_text(file.read_text().replace("strict = true", "strict = false"))
    lines = file.read_text().splitlines()
    (found,) = [
        row for row in run("profile", "check", str(file), "--json").json["profiles"][0]["findings"] if row["level"] == "warning"
    ]
    assert (found["key"], lines[found["line"] - 1], found["fix"]) == ("strict", "strict = false", "set strict = true")
    assert "fix set strict = true" in run("profile", "check", str(file)).out
