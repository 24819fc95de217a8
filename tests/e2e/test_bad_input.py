"""Bad input and a broken world: a clear error, a hint, the documented exit code, nothing half done (issue 2)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.own_engine import own_engine
from tests.helpers.supervisor_process import SupervisorProcess, text

pytestmark = pytest.mark.docker


def test_without_a_supervisor_commands_say_so_and_exit_nine(supervisor: SupervisorProcess) -> None:
    """K2: 9 is supervisor, store or engine unavailable."""
    for command in (["status"], ["runs"], ["approvals"], ["send", "scribe", "--note", "x"], ["show", "a_abcdefgh"]):
        done = supervisor.run(*command)
        assert (done.returncode, done.stdout) == (9, ""), command
        assert "hint:" in done.stderr


@pytest.mark.parametrize(
    ("toml", "names"),
    [
        ("schema = 1\nname = 'x'\nnot_a_key = 1\n", "not_a_key"),
        ("this is not TOML", "TOML"),
        ("schema = 1\nname = 'No Such Name'\n", "name"),
        ("x" * 300_000, "larger"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_key_and_exit_two(supervisor: SupervisorProcess, toml: str, names: str) -> None:
    """Cli.md: unknown keys are errors; a refused profile changes nothing."""
    file = supervisor.home / "wrong.toml"
    file.write_text(toml)
    supervisor.start()
    for verb in ("check", "publish"):
        done = supervisor.run("profile", verb, str(file))
        assert done.returncode in (1, 2), done
        assert names in done.stderr + done.stdout, done
    missing = supervisor.run("profile", "publish", str(supervisor.home / "absent.toml"))
    assert missing.returncode in (2, 3)
    assert [row["name"] for row in supervisor.ask("profile", "list")["profiles"]] == ["reader", "scribe"]


def test_a_profile_that_asks_for_what_no_agent_may_have_is_refused_with_the_reason(supervisor: SupervisorProcess) -> None:
    """Issue 7, bad input: privileges, devices, and directories that are no agent's own; nothing is published."""
    supervisor.start()
    supervisor.publish()
    link = supervisor.home / "link"
    link.symlink_to(supervisor.home)
    told = {
        "/proc/self/cwd": "must not lie beneath /proc",
        str(Path.home()): "home directory",
        str(supervisor.state / "attempts"): "what a supervisor keeps",
        str(supervisor.cwd): "shared with the agent tester",
        str(link): "it is a link",
    }
    good = (supervisor.home / "tester.toml").read_text().replace('"tester"', '"other"')
    asked = {good.replace(str(supervisor.cwd), cwd): reason for cwd, reason in told.items()}
    asked[f"privileged = true\n{good}"] = "cannot ask for privileges"
    file = supervisor.home / "other.toml"
    for text_of_it, reason in asked.items():
        file.write_text(text_of_it)
        done = supervisor.run("profile", "publish", str(file))
        assert (done.returncode, reason in done.stderr) == (2, True), done
    assert [row["name"] for row in supervisor.ask("profile", "list")["profiles"]] == ["reader", "scribe", "tester"]


def test_a_profile_with_a_wrong_example_is_not_published(supervisor: SupervisorProcess) -> None:
    """Cli.md: examples are checked at load; a wrong one refuses the profile."""
    supervisor.start()
    file = supervisor.home / "wrong.toml"
    example = '[[examples]]\ntool = "Read"\ninput = { file_path = "../x" }\nexpect = "allow"\n'
    supervisor.publish()
    file.write_text((supervisor.home / "tester.toml").read_text() + example)
    done = supervisor.run("profile", "publish", str(file))
    assert done.returncode == 2
    assert "examples" in done.stderr


def test_a_run_whose_directory_is_gone_fails_with_the_reason(supervisor: SupervisorProcess) -> None:
    """A run that cannot start ends failed, with no container left."""
    supervisor.script([text("never said")])
    supervisor.start()
    supervisor.publish()
    shutil.rmtree(supervisor.cwd)
    ended = supervisor.until(supervisor.send(), "failed", "replied")
    assert ended["state"] == "failed"
    assert str(supervisor.cwd) in ended["reason"]
    assert ended["reply"] is None


def test_a_run_without_an_engine_fails_with_the_reason(supervisor: SupervisorProcess, tmp_path: Path) -> None:
    """M, bad input: a dead engine never leads to running outside the sandbox."""
    supervisor.environment["DOCKER_HOST"] = f"unix://{tmp_path}/no.sock"
    supervisor.start()
    supervisor.publish()
    ended = supervisor.until(supervisor.send(), "failed", "replied")
    assert ended["state"] == "failed"
    assert "no engine answers" in ended["reason"]
    status = supervisor.ask("status")
    assert (status["engine"], status["containers"]) == (None, None)
    shown = supervisor.run("image", "show")
    assert shown.returncode == 9
    assert "hint:" in shown.stderr


def test_a_run_without_an_image_fails_and_says_how_to_build_one(supervisor: SupervisorProcess) -> None:
    """Bad input: a missing image."""
    with own_engine() as engine:
        supervisor.environment["DOCKER_HOST"] = engine.host
        supervisor.start()
        supervisor.publish()
        ended = supervisor.until(supervisor.send(), "failed", "replied")
        supervisor.stop()
    assert ended["state"] == "failed"
    assert "runner image build" in ended["reason"]


def test_a_model_that_cannot_be_used_stops_the_start(supervisor: SupervisorProcess) -> None:
    """Settings are checked before anything is opened."""
    supervisor.environment["RUNNER_MODEL"] = "scripted:/no/such/file.json"
    done = supervisor.run("serve")
    assert done.returncode == 2
    assert "hint:" in done.stderr
    supervisor.environment["RUNNER_MODEL"] = "gopher://x"
    assert supervisor.run("serve").returncode == 2


def test_bad_captures_and_unknown_agents_are_refused_and_queue_nothing(supervisor: SupervisorProcess) -> None:
    """R21 form of cli.md: unknown keys, nothing to do, no such agent."""
    supervisor.start()
    unknown = supervisor.run("send", "nobody", "--note", "x", "--json")
    assert unknown.returncode == 3
    assert json.loads(unknown.stderr)["error"]["code"] == "not_found"
    assert supervisor.run("send", "scribe").returncode == 2
    wrong = json.dumps({"agent": "scribe", "note": "x", "surprise": 1})
    assert supervisor.run("send", "scribe", "--capture", "-", stdin=wrong).returncode == 2
    twice = '{"agent": "scribe", "note": "x", "note": "y"}'
    assert supervisor.run("send", "scribe", "--capture", "-", stdin=twice).returncode == 2
    assert supervisor.ask("runs") == {"runs": []}


def test_a_damaged_database_is_refused_and_left_alone(supervisor: SupervisorProcess) -> None:
    """L7: never treated as empty."""
    supervisor.start()
    supervisor.publish()
    supervisor.stop()
    database = supervisor.state / "runner.db"
    for beside in supervisor.state.glob("runner.db-*"):
        beside.unlink()
    damaged = b"\0" * 4096 + database.read_bytes()[4096:]
    database.write_bytes(damaged)
    done = supervisor.run("serve")
    assert done.returncode == 9
    assert database.read_bytes() == damaged
