"""Keys of approvers through the whole product: one yes, two yeses, none, and an agent's shell (issue 5 item 2)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runner.captures import ed25519
from tests.e2e.test_strangers_apart import add
from tests.helpers.supervisor_process import SupervisorProcess, text, write

pytestmark = pytest.mark.docker


def keys(supervisor: SupervisorProcess, *names: str) -> dict[str, Path]:
    """Keys of these people, set up with the supervisor; none of them is anybody's default."""
    files = {name: supervisor.home / f"{name}.key" for name in names}
    made = {}
    for name, file in files.items():
        key = ed25519.make()
        file.touch(mode=0o600)
        file.write_bytes(key.sealed(None))
        made[name] = key.public
    supervisor.environment["RUNNER_APPROVERS"] = ",".join(f"{name}={key}" for name, key in made.items())
    supervisor.environment["RUNNER_APPROVER_KEY"] = str(supervisor.home / "nobody.key")
    return files


def published(supervisor: SupervisorProcess, key: Path, **changes: str) -> None:
    """The profile published with somebody's key."""
    nobody = supervisor.environment["RUNNER_APPROVER_KEY"]
    supervisor.environment["RUNNER_APPROVER_KEY"] = str(key)
    supervisor.publish(**changes)
    supervisor.environment["RUNNER_APPROVER_KEY"] = nobody


def approve(supervisor: SupervisorProcess, waiting: dict[str, Any], *more: str) -> subprocess.CompletedProcess[str]:
    return supervisor.run("approve", str(waiting["id"]), "--yes", "--digest", str(waiting["digest"]), *more)


def test_two_keys_are_needed_for_one_effect_and_neither_is_seen_by_the_container(supervisor: SupervisorProcess) -> None:
    """D5, W2, W4, K2, invariant 7."""
    files = keys(supervisor, "anna", "ben")
    supervisor.script([write("a.txt", "A")], [text("written")])
    supervisor.start()
    wanted = supervisor.home / "three.toml"
    published(supervisor, files["anna"], approvals="[approvals]\nrequired = 2")
    wanted.write_text((supervisor.home / "tester.toml").read_text().replace("required = 2", "required = 3"))
    refused = supervisor.run("profile", "check", str(wanted))
    assert (refused.returncode, "3 approvers are required, and 2 keys" in refused.stdout + refused.stderr) == (2, True), refused
    run = supervisor.send()
    supervisor.until(run, "held")
    (waiting,) = supervisor.queue(run)
    for container in supervisor.containers():
        inspected = subprocess.run(["docker", "inspect", container], capture_output=True, text=True, check=True).stdout
        assert "APPROVER" not in inspected
        assert not any(file.name in inspected or str(file.parent) + '"' in inspected for file in files.values())
    without = approve(supervisor, waiting)
    assert (without.returncode, "there is no key at" in without.stderr) == (7, True)
    first = approve(supervisor, waiting, "--key", str(files["anna"]), "--reason", "looks right")
    assert (first.returncode, "signed Write" in first.stdout, "1 of 2 signatures (by anna)" in first.stdout) == (0, True, True)
    assert approve(supervisor, waiting, "--key", str(files["anna"])).returncode == 4
    assert list(supervisor.cwd.iterdir()) == []
    (listed,) = supervisor.queue(run)
    assert (listed["state"], [one["name"] for one in listed["signatures"]["given"]]) == ("pending", ["anna"])
    last = approve(supervisor, waiting, "--key", str(files["ben"]), "--wait")
    assert (last.returncode, "2 of 2 signatures" in last.stdout) == (0, True), last.stderr
    assert supervisor.until(run, "replied", "failed")["reply"] == "written"
    assert (supervisor.cwd / "a.txt").read_text() == "A"
    shown = supervisor.ask("show", waiting["id"])
    events = [one["event"] for one in shown["history"]]
    assert (events.count("approval.sign"), events.count("approval.execute"), events.count("approval.succeed")) == (2, 1, 1)
    (yes,) = [json.loads(one["data"])["by"] for one in shown["history"] if one["event"] == "approval.approve"]
    assert (yes["name"], yes["method"], yes["uid"]) == ("ben", "key", json.loads(shown["history"][1]["data"])["by"]["uid"])
    assert supervisor.run("undo", waiting["id"], "--key", str(files["ben"])).returncode == 7


def test_two_keys_are_needed_for_a_reply_of_an_agent_whose_calls_need_two(supervisor: SupervisorProcess) -> None:
    """D5, R19, R20: although the profile lets replies go out, and as both see it."""
    files = keys(supervisor, "anna", "ben")
    supervisor.script([text("It is a bill.")])
    supervisor.start()
    supervisor.environment["RUNNER_APPROVER_KEY"] = str(files["anna"])
    add(supervisor, "maria")
    supervisor.publish(contacts=' ["maria"]', allow_replies="true", approvals="[approvals]\nrequired = 2")
    supervisor.environment["RUNNER_APPROVER_KEY"] = str(supervisor.home / "nobody.key")
    supervisor.until(supervisor.send("x", "--as", "maria"), "replied")
    (reply,) = supervisor.ask("replies")["replies"]
    words = ("reply", "approve", str(reply["id"]), "--yes", "--digest", str(reply["digest"]), "--key")
    first = supervisor.run(*words, str(files["anna"]))
    assert (first.returncode, "1 of 2 signatures (by anna)" in first.stdout) == (0, True), first.stderr
    assert supervisor.run(*words, str(files["anna"])).returncode == 4
    assert supervisor.ask("reply", "show", str(reply["id"]))["state"] == "held"
    last = supervisor.run(*words, str(files["ben"]))
    assert (last.returncode, "released" in last.stdout, "2 of 2" in last.stdout) == (0, True, True), last.stderr


def test_with_a_key_set_up_whatever_loosens_needs_it_and_a_no_needs_none(supervisor: SupervisorProcess) -> None:
    """W2: else a tool could be let run unasked, or a profile published, by whoever lacks the key."""
    files = keys(supervisor, "anna")
    supervisor.script([write("a.txt", "A"), write("b.txt", "B")], [text("done")])
    supervisor.start()
    supervisor.environment["RUNNER_APPROVER_KEY"] = str(files["anna"])
    supervisor.publish()
    supervisor.environment["RUNNER_APPROVER_KEY"] = str(supervisor.home / "nobody.key")
    for words in (
        ("tools", "set", "tester", "Write", "allow"),
        ("tools", "reset", "tester"),
        ("policy", "set", "skip"),
        ("profile", "publish", str(supervisor.home / "tester.toml")),
        ("resume",),
    ):
        assert supervisor.run(*words).returncode == 7, words
    run = supervisor.send()
    supervisor.until(run, "held")
    one, two = supervisor.queue(run)
    assert supervisor.run("approve", "--all-shown", supervisor.ask("approvals")["snapshot"], "--yes").returncode == 7
    assert supervisor.run("deny", one["id"]).returncode == 0
    assert approve(supervisor, two, "--key", str(files["anna"])).returncode == 0
    assert supervisor.until(run, "replied", "failed")["reply"] == "done"
    assert [path.name for path in supervisor.cwd.iterdir()] == ["b.txt"]


def test_an_agents_shell_is_refused_by_default_and_on_record(supervisor: SupervisorProcess) -> None:
    """W3: loudly; what the supervisor's own start says cannot be changed by who asks."""
    supervisor.environment["RUNNER_TRIPWIRES"] = ""
    supervisor.start()
    supervisor.environment |= {"CLAUDECODE": "1", "RUNNER_TRIPWIRES": "off"}
    refused = supervisor.run("resume")
    assert (refused.returncode, "agent's shell" in refused.stderr, "hint:" in refused.stderr) == (7, True, True)
    tripped = [one for one in supervisor.ask("log")["events"] if one["event"] == "approval.tripwire"]
    assert [one["data"]["act"] for one in tripped] == ["resume"]
    assert "CLAUDECODE" in tripped[0]["data"]["why"]
    assert supervisor.run("pause").returncode == 0
