"""Real runs as an outside judge sees them, and told to real channels (A4, C1, C4, C6; issue 6 items 4 to 6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox.engine import ImageInfo
from tests.helpers.judge import judge
from tests.helpers.notices import SECRET, Receiver, receiving
from tests.helpers.supervisor_process import SupervisorProcess, eventually, text, use, write

pytestmark = pytest.mark.docker

TURN = [text("read and write"), use("Read", file_path="/workspace/in.txt"), *(write(f"{name}.txt", name) for name in "abcde")]


@pytest.fixture
def server() -> Iterator[Receiver]:
    """Takes every notice."""
    with receiving() as found:
        yield found


@pytest.fixture
def told(tmp_path: Path, server: Receiver, sandbox_image: ImageInfo) -> Iterator[SupervisorProcess]:
    """A supervisor with a channel that works, one that nobody answers, and a webhook."""
    urls = [f"json://127.0.0.1:{server.port}/", "json://127.0.0.1:9/?cto=1&rto=1"]
    environment = {
        "RUNNER_NOTIFY__URLS": json.dumps(urls),
        "RUNNER_NOTIFY__SETTLE": "1",
        "RUNNER_NOTIFY__WEBHOOK": json.dumps({"url": f"http://127.0.0.1:{server.port}/hook", "secret": SECRET}),
    }
    process = SupervisorProcess(tmp_path / "home", environment)
    yield process
    process.stop()
    assert process.containers() == []


def export(supervisor: SupervisorProcess, name: str, *more: str) -> Path:
    """The trace as the command writes it."""
    file = supervisor.home / name
    done = supervisor.run("audit", "export", "--format", "agentack", str(file), *more)
    assert done.returncode == 0, done.stderr
    return file


def decide_each(supervisor: SupervisorProcess, waiting: list[dict[str, Any]]) -> None:
    """Yes, no, an edit, a kill, and two more."""
    a, b, c, d, e = waiting
    assert supervisor.approve(a).returncode == 0
    assert supervisor.run("deny", b["id"], "--reason", "not b").returncode == 0
    edited = supervisor.home / "edited.json"
    edited.write_text(json.dumps({"file_path": "c.txt", "content": "better"}))
    shown = supervisor.ask("show", c["id"], "--edit", str(edited))
    done = supervisor.run("approve", c["id"], "--edit", str(edited), "--digest", str(shown["digest"]), "--yes")
    assert done.returncode == 0, done.stderr
    supervisor.kill()
    supervisor.start()
    for one in (d, e):
        assert supervisor.approve(one).returncode == 0


def test_a_real_run_is_told_about_and_passes_the_judge(told: SupervisorProcess, server: Receiver) -> None:
    """Approved, denied, edited, undone, killed and recovered; while one channel is dead throughout."""
    (told.cwd / "in.txt").write_text("INSIDE\n")
    told.script(TURN, [text("All done.")])
    told.start()
    told.publish(approvals='[approvals]\nhold = "0s"')
    run = told.send()
    told.until(run, "parked")
    a = told.queue(run)[0]
    eventually(lambda: True if len(server.got) >= 2 else None, "both channels are told")
    told_of = {got.json["title"] for got in server.got}
    assert told_of == {"runner: 5 calls wait for you"}
    assert not any(word in got.body.decode() for got in server.got for word in ("a.txt", "INSIDE", "workspace", SECRET))
    decide_each(told, told.queue(run))
    ended = told.until(run, "replied", "failed")
    assert ended["reply"] == "All done.", (ended["reason"], told.log)
    assert told.run("undo", a["id"]).returncode == 0
    assert sorted(path.name for path in told.cwd.iterdir()) == ["c.txt", "d.txt", "e.txt", "in.txt"]
    by_name = {one["name"].partition("-")[0]: one for one in told.ask("status")["notices"]["channels"] if one["delivered"]}
    assert set(by_name) == {"json", "webhook"}
    checks = json.loads(told.run("doctor", "--json").stdout)["checks"]
    assert {check["level"] for check in checks if check["name"].startswith("notices to")} == {"fine", "note"}
    tested = told.run("notify", "test")
    assert tested.returncode == 1
    assert [line.split()[2] for line in tested.stdout.splitlines()] == ["delivered", "not", "delivered"]
    (row,) = [row for row in told.ask("approvals", "stats")["rows"] if row["person"] != "nobody"]
    assert (row["decided"], row["approved"], row["denied"], row["undone"]) == (5, 4, 1, 1)
    assert told.stop() == 0
    found = judge(export(told, "all.jsonl"))
    assert (found.status, found.code) == ("PASS", 0), found.said
    assert judge(export(told, "run.jsonl", "--run", run)).status == "PASS"
    assert SECRET not in told.log
    assert "127.0.0.1" not in told.log


@pytest.mark.parametrize("build", ["ACK002", "ACK003"])
def test_a_broken_supervisor_is_caught_by_the_judge(supervisor: SupervisorProcess, build: str) -> None:
    """A4, with the whole program; the other builds are tests/adversarial/test_broken_builds.py."""
    supervisor.script([write("a.txt", "A"), write("b.txt", "B")], [text("done")])
    supervisor.command = ("tests.helpers.broken", build, "serve")
    supervisor.start()
    supervisor.publish()
    run = supervisor.send()
    supervisor.until(run, "held", "parked")
    first, second = supervisor.queue(run)
    supervisor.run("deny", first["id"])
    assert supervisor.approve(second).returncode == 0
    supervisor.until(run, "replied", "failed")
    supervisor.stop()
    found = judge(export(supervisor, "trace.jsonl"))
    assert found.status == "FAIL"
    assert build in found.rules, found.said
