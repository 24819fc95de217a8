"""A real supervisor with a real door: what is shared survives SIGKILL, leaves once it may, stops where it must (R26-R31)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from runner.api.client import Client
from runner.captures import ed25519, keyfile
from tests.e2e.test_contacts import Contact
from tests.helpers.door import free_port
from tests.helpers.supervisor_process import SupervisorProcess
from tests.helpers.terminal import Terminal

pytestmark = pytest.mark.docker


def asked(supervisor: SupervisorProcess, *path: str) -> Any:
    """An answer of the supervisor, without the cost of a process."""
    with Client(supervisor.state / "control.sock") as client:
        return client.get(*path, **({"state": "all"} if path == ("shares",) else {}))


def told(supervisor: SupervisorProcess, *path: str, **body: str) -> None:
    with Client(supervisor.state / "control.sock") as client:
        client.post(*path, body={**body})


def met(supervisor: SupervisorProcess, name: str) -> Contact:
    """A contact with a machine of its own."""
    machine, key = Contact(supervisor.home / name), ed25519.make()
    keyfile.write(machine.home / ".config/runner/contact.key", key)
    told(supervisor, "contacts", petname=name, key=key.public)
    return machine


def killed_behind_the_commit(supervisor: SupervisorProcess, *command: str) -> None:
    """Run a command whose supervisor dies, and start another one."""
    assert supervisor.run(*command, "--yes").returncode == 9
    assert supervisor.process is not None
    assert supervisor.process.wait() == -signal.SIGKILL
    supervisor.process = None
    del supervisor.environment["RUNNER_FAILPOINT"]
    supervisor.start()


def test_a_share_is_asked_about_survives_a_kill_and_stops_where_it_must(supervisor: SupervisorProcess) -> None:
    """R26-R28, R31; issue 8 point 4: the owner's terminal, the contact's command, a kill, a pause, a removal, the log."""
    to = f"http://127.0.0.1:{free_port()}"
    supervisor.environment |= {"RUNNER_INGRESS__BIND": to.removeprefix("http://"), "RUNNER_FAILPOINT": "share.offer:after"}
    supervisor.start()
    maria, ben = met(supervisor, "maria"), met(supervisor, "ben")
    report, inside = supervisor.home / "report.txt", supervisor.home / "in"
    report.write_text("see https://\u0435xample.org/x\n")
    share = ("share", str(report), "--to", "maria", "--note", "as promised")
    killed_behind_the_commit(supervisor, *share)
    (first,) = asked(supervisor, "shares")
    with Terminal(*share, environment=supervisor.variables) as terminal:
        terminal.wait_for("[y/N]")
        assert "leads to xn--xample-2of.org" in terminal.text
        assert terminal.answer(b"y\n") == 0
    (second,) = [row for row in asked(supervisor, "shares") if row["id"] != first["id"]]

    def get(one: Contact, ref: str, folder: Path) -> int:
        return one.run("get", ref, "--to", to, "--out", str(folder)).returncode

    assert [get(ben, second["id"], inside), get(maria, second["id"], inside)] == [3, 0]
    assert [(path.name, path.read_bytes()) for path in inside.iterdir()] == [("report.txt", report.read_bytes())]
    told(supervisor, "pause")
    assert [supervisor.run(*share, "--yes").returncode, get(maria, first["id"], supervisor.home / "more")] == [8, 8]
    told(supervisor, "resume")
    told(supervisor, "contacts", "maria", "remove")
    assert get(maria, first["id"], supervisor.home / "more") == 7
    assert {row["state"] for row in asked(supervisor, "shares")} == {"withdrawn"}
    events = [one for one in asked(supervisor, "log")["events"] if one["event"].startswith("share.")]
    assert [(one["event"], one["subject"]) for one in events[:3]] == [
        ("share.offer", first["id"]),
        ("share.offer", second["id"]),
        ("share.fetch", second["id"]),
    ]
    assert {one["event"] for one in events[3:]} == {"share.withdraw"}
