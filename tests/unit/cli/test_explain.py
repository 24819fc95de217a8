"""explain: the contract's JSON, its exit codes, the matrix, the card; no supervisor anywhere (cli.md)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.digest import call_digest
from runner.model import Digest
from runner.policy import TOOLS, SavedVerdict, definition_digest
from runner.profiles import load, to_json
from runner.store import Store, VerdictRow, choices, profiles, verdicts
from tests.helpers.stored import ANNA, NOW, opened
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
PROFILE = """schema = 1
name = "tester"
description = "Reads and writes"
kind = "claude-sdk"
model = "claude-sonnet-4-5"
system_prompt = "Read."
cwd = "{cwd}"
tools = ["Read", "Grep", "Write(out/**)", "Edit", "WebFetch", "mcp__github__comment"]
allow_unconfined_tools = true
hide = ["private/"]
{more}
"""


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    (folder / "private").mkdir(parents=True)
    (folder / "in.txt").write_text("x")
    (folder / "private/plan.txt").write_text("x")
    (folder / "link").symlink_to("/etc/passwd")
    return folder


def a_file(cwd: Path, *, more: str = 'policy = "read_only"') -> str:
    path = cwd.parent / "tester.toml"
    path.write_text(PROFILE.format(cwd=cwd, more=more))
    return str(path)


def answers(run: Run, *arguments: str) -> Any:
    ran = run("explain", *arguments, "--json")
    assert (ran.code, ran.err) == (0, ""), ran
    return ran.json


def a_published(state: Path, file: str) -> Store:
    """The profile of a file in the database of this test, as a supervisor would have left it."""
    state.mkdir(mode=0o700, exist_ok=True)
    found = load(Path(file))
    with opened(state / "runner.db") as store, store.begin() as conn:
        profiles.put(conn, json.dumps(to_json(found)), digest=found.digest, name=found.name, now=NOW)
    return store


def test_a_call_is_answered_in_the_contracts_words(run: Run, cwd: Path) -> None:
    found = answers(run, a_file(cwd), "Write", '{"file_path": "out/a.md", "content": "x"}')
    digest = call_digest(
        tool="Write",
        definition=definition_digest(TOOLS["Write"]),
        arguments={"file_path": "out/a.md", "content": "x"},
        paths=["/workspace/out/a.md"],
    )
    assert found == {
        "verdict": "ask",
        "rank": 7,
        "rule": "not_covered",
        "reason": "Waits for a person's approval: The default policy does not run this tool unasked.",
        "strict": True,
        "tool": {"name": "Write", "class": "write", "reversible": False, "returns_untrusted": False, "egress": False},
        "paths": [{"asked": "out/a.md", "resolved": "/workspace/out/a.md"}],
        "digest": digest,
    }


@pytest.mark.parametrize(
    ("tool", "given", "verdict", "rule"),
    [
        ("Read", {"file_path": "in.txt"}, "allow", "covered_in_manual"),
        ("Read", {"file_path": "../x"}, "deny", "outside"),
        ("Read", {"file_path": "link"}, "deny", "outside"),
        ("Read", {"file_path": "private/plan.txt"}, "deny", "hidden"),
        ("Read", {"file_path": ".env"}, "deny", "hidden"),
        ("Write", {"file_path": "in.txt", "content": "x"}, "deny", "scope"),
        ("Edit", {"file_path": ".git/config", "old_string": "a", "new_string": "b"}, "deny", "hidden"),
        ("Bash", {"command": "id"}, "deny", "not_declared"),
        ("WebFetch", {"url": "https://example.org"}, "deny", "not_available"),
        ("mcp__github__comment", {"text": "x"}, "ask", "not_covered"),
        ("\x1b[2J" * 50, {}, "deny", "not_declared"),
    ],
)
def test_every_verdict_exits_with_nothing_wrong(
    tool: str, given: dict[str, str], verdict: str, rule: str, run: Run, cwd: Path
) -> None:
    """R44, R46-R50; what the snapshot leaves out is denied with that reason."""
    found = answers(run, a_file(cwd), tool, json.dumps(given))
    assert (found["verdict"], found["rule"]) == (verdict, rule)
    assert len(found["reason"]) > 20


def test_the_models_name_for_a_tool_means_the_tool(run: Run, cwd: Path) -> None:
    """Brokered names are mapped in one place (issue 4 item 6)."""
    call = '{"file_path": "out/x", "content": ""}'
    assert answers(run, a_file(cwd), "mcp__runner__Write", call) == answers(run, a_file(cwd), "Write", call)


@pytest.mark.parametrize(
    "text",
    [
        '{"file_path": "a", "file_path": "b"}',
        '{"file_path": NaN}',
        '{"file_path": "\\ud800"}',
        '{"file_path": 1e400}',
        '{"a": ' * 100 + "1" + "}" * 100,
        '{"a": ' * 100_000 + "1" + "}" * 100_000,
        '{"file_path": ["in.txt"]}',
        '{"file_path": "in.txt", "offset": "1"}',
        '{"file_path": ' + "9" * 5000 + "}",
        "{}",
        '{"file_path": "' + "x" * 300_000 + '"}',
    ],
    ids=lambda text: text[:24],
)
def test_json_that_is_wrong_inside_is_a_deny_of_rank_nothing(text: str, run: Run, cwd: Path, tmp_path: Path) -> None:
    """cli.md: exit 0, never an exception, never an allow by accident."""
    (tmp_path / "call.json").write_text(text)
    found = answers(run, a_file(cwd), "Read", f"@{tmp_path / 'call.json'}")
    assert (found["verdict"], found["rank"]) == ("deny", 0)


@pytest.mark.parametrize(
    "text", ["", "x", "[]", '"{}"', "1", "null", "{", '{"a": 1} {}', "{'a': 1}", "[" * 100_000, "\ufeff{}"]
)
def test_what_is_no_json_object_at_all_is_bad_usage(text: str, run: Run, cwd: Path, tmp_path: Path) -> None:
    (tmp_path / "call.json").write_text(text)
    ran = run("explain", a_file(cwd), "Read", f"@{tmp_path / 'call.json'}", "--json")
    assert (ran.code, ran.out, json.loads(ran.err)["error"]["code"]) == (2, "", "usage")


@pytest.mark.parametrize(
    "arguments",
    [("Read",), ("Read", "{}", "--card", "--json"), ("--card",), ("Read", "@/no/such/file"), ("Read", "{}", "--from", "me")],
)
def test_what_makes_no_sense_together_is_bad_usage(arguments: tuple[str, ...], run: Run, cwd: Path) -> None:
    assert run("explain", a_file(cwd), *arguments).code == 2


def test_bytes_that_are_no_text_are_bad_usage(run: Run, cwd: Path, tmp_path: Path) -> None:
    (tmp_path / "call.json").write_bytes(b'{"file_path": "\xff"}')
    assert run("explain", a_file(cwd), "Read", f"@{tmp_path / 'call.json'}").code == 2


def test_a_profile_that_is_not_there_or_is_none_is_said_so(run: Run, cwd: Path, tmp_path: Path) -> None:
    assert run("explain", "nobody").code == 3
    assert run("explain", "No Such\x1b Name").code == 3
    assert run("explain", str(tmp_path / "gone.toml")).code == 2
    (tmp_path / "bad.toml").write_text("schema = 2")
    assert run("explain", str(tmp_path / "bad.toml")).code == 2


def test_another_directory_can_be_judged_and_one_that_is_missing_is_empty(run: Run, cwd: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "in.txt").symlink_to("/etc/hostname")
    file = a_file(cwd)
    assert answers(run, file, "Read", '{"file_path": "in.txt"}', "--cwd", str(other))["rule"] == "outside"
    missing = run("explain", file, "Read", '{"file_path": "in.txt"}', "--cwd", str(tmp_path / "none"), "--json")
    assert (missing.code, missing.json["verdict"], "as if it were empty" in missing.err) == (0, "allow", True)


def test_who_sends_and_whether_anybody_answers_make_it_stricter(run: Run, cwd: Path) -> None:
    """R55, L5, C15."""
    file = a_file(cwd, more="strict = false")
    call = ("Edit", '{"file_path": "in.txt", "old_string": "x", "new_string": "y"}')
    assert answers(run, file, *call)["strict"] is False
    assert answers(run, file, *call, "--from", "contact")["strict"] is True
    assert answers(run, file, *call, "--unattended")["rule"] == "no_channel"


def test_the_hosts_ceiling_counts(run: Run, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R75, C7: above it, everything asks."""
    monkeypatch.setenv("RUNNER_MAX_POLICY", "ask")
    found = answers(run, a_file(cwd), "Read", '{"file_path": "in.txt"}')
    assert (found["verdict"], found["rule"]) == ("ask", "ceiling")


def test_the_matrix_has_every_tool_in_every_kind_of_run(run: Run, cwd: Path) -> None:
    found = answers(run, a_file(cwd))
    assert (found["profile"], found["strict"], [row["tool"] for row in found["matrix"]]) == (
        "tester",
        True,
        ["Read", "Grep", "Write", "Edit", "WebFetch", "mcp__github__comment"],
    )
    rows = {row.pop("tool"): row for row in found["matrix"]}
    assert rows["Write"]["owner"]["verdict"] == "ask"
    assert rows["Write"]["unattended"] == {"verdict": "deny", "word": "unattended"}
    assert rows["Read"]["contact"] == {"verdict": "allow", "word": "default"}
    text = run("explain", a_file(cwd)).out.splitlines()
    assert text[1].split() == ["tool", "owner", "contact", "unattended", "tainted"]
    assert [line.split()[0] for line in text[2:]] == list(rows)


def test_a_card_is_what_an_approver_would_see(run: Run, cwd: Path) -> None:
    """V1, V8: the same plan, the same preview, the call's own digest."""
    ran = run("explain", a_file(cwd), "Edit", '{"file_path": "in.txt", "old_string": "x", "new_string": "y"}', "--card")
    assert ran.code == 0
    assert ran.out.startswith("approval (not queued)  pending\n")
    for line in ("│ --- /workspace/in.txt", "│ -x", "│ +y"):
        assert line in ran.out.splitlines()
    assert "sha256:" in ran.out


def test_what_nobody_is_asked_about_has_no_card(run: Run, cwd: Path) -> None:
    ran = run("explain", a_file(cwd), "Read", '{"file_path": "in.txt"}', "--card")
    assert (ran.code, ran.out.startswith("run Read"), "no card" in ran.err) == (0, True, True)
    impossible = run("explain", a_file(cwd), "Edit", '{"file_path": "no.txt", "old_string": "x", "new_string": "y"}', "--card")
    assert (impossible.code, "does not exist" in impossible.out) == (0, True)


def test_a_published_name_counts_with_what_is_saved_for_it(run: Run, cwd: Path, state: Path) -> None:
    """R74, R138; no supervisor runs, and the file of the same agent is judged without."""
    file = a_file(cwd)
    a_published(state, file)
    with opened(state / "runner.db") as store, store.begin() as conn:
        row = VerdictRow(agent="tester", tool="Edit", verdict=SavedVerdict.BLOCK.value, set_by=ANNA, set_at=NOW)
        verdicts.put(conn, row)
    call = ("Edit", '{"file_path": "in.txt", "old_string": "x", "new_string": "y"}')
    assert answers(run, "tester", *call)["rule"] == "blocked"
    assert answers(run, file, *call)["rule"] == "not_covered"


def test_the_owners_default_counts_for_a_profile_that_names_none(run: Run, cwd: Path, state: Path) -> None:
    """R66, R67."""
    file = a_file(cwd, more="")
    call = ("Read", '{"file_path": "in.txt"}')
    assert answers(run, file, *call)["verdict"] == "ask"
    a_published(state, file)
    with opened(state / "runner.db") as store, store.begin() as conn:
        choices.set_policy(conn, policy="read_only", ceiling=None, who=ANNA, now=NOW)
    assert answers(run, file, *call)["verdict"] == "allow"
    assert answers(run, "tester", *call)["verdict"] == "allow"


def test_a_server_that_does_not_answer_is_said_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_DATABASE_URL", "postgresql+psycopg://nobody:secret@127.0.0.1:1/x")
    ran = run("explain", "tester")
    assert (ran.code, "cannot read the database" in ran.err, "secret" in ran.err) == (9, True, False)


def test_a_digest_of_a_stored_profile_is_the_files(cwd: Path, state: Path) -> None:
    """Runs refer to it."""
    found = load(Path(a_file(cwd)))
    a_published(state, a_file(cwd))
    with opened(state / "runner.db") as store, store.reading() as conn:
        assert profiles.current(conn, "tester").digest == Digest(found.digest)


def test_explaining_loads_neither_database_engine_sdk_nor_http(cwd: Path) -> None:
    """Issue 4 item 4: works offline and at once."""
    heavy = {
        "sqlalchemy",
        "alembic",
        "dbos",
        "docker",
        "claude_agent_sdk",
        "textual",
        "httpx2",
        "starlette",
        "uvicorn",
    }
    arguments = ["explain", a_file(cwd), "Read", '{"file_path": "in.txt"}', "--json"]
    code = f"import sys; from runner.cli.main import main; main({arguments!r}); print(sorted({heavy!r} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.splitlines()[-1] == "[]"
