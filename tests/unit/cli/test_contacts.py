"""contact, captures, accept, start, dismiss and send --as on the command line (cli.md)."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.captures import ed25519, keys
from runner.model import Capture
from tests.helpers.fake_contacts import STUB
from tests.helpers.fake_service import CAPTURE, RUN, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_keygen_makes_a_private_file_without_a_supervisor(run: Run, tmp_path: Path) -> None:
    """cli.md: it works without one; the line on stdout is all that is handed on."""
    made = run("contact", "keygen")
    file = tmp_path / ".config/runner/contact.key"
    public = made.out.strip()
    assert keys.checked(public) == public
    assert f"⟨{keys.shown(public)}⟩" in made.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert ed25519.unseal(file.read_bytes(), None).public == public
    again = run("contact", "keygen")
    assert (again.code, "there already" in again.err) == (2, True)
    other = run("contact", "keygen", "--out", str(tmp_path / "other.key"), "--json").json
    assert other == {"key": other["key"], "fingerprint": keys.shown(other["key"]), "file": str(tmp_path / "other.key")}


def test_a_contact_is_added_shown_and_listed(run: Run, service: FakeService) -> None:
    added = run("contact", "add", "ben", "ed25519:k", "--unverified")
    assert service.asked[-1] == ("contact add", ("ben", "ed25519:k", "person", False))
    assert "added ben" in added.out
    assert "add it to contacts in a profile" in added.err
    run("contact", "add", "build", "ed25519:k", "--agent")
    assert service.asked[-1] == ("contact add", ("build", "ed25519:k", "agent", True))
    assert "⟨abcd-efgh-2345-6723⟩" in run("contact", "list").out
    assert "scribe" in run("contact", "show", "maria").out
    assert run("contact", "show", "nobody").code == 3
    service.contacts.rows = []
    assert "no contacts" in run("contact", "list").out
    assert run("contact", "list", "--json").json == {"contacts": []}


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        (("block", "maria"), ("contact block", ("maria", True))),
        (("unblock", "maria"), ("contact block", ("maria", False))),
        (("verify", "maria"), ("contact verify", ("maria", True))),
        (("verify", "maria", "--undo"), ("contact verify", ("maria", False))),
        (("rename", "maria", "mia"), ("contact rename", ("maria", "mia"))),
        (("remove", "maria"), ("contact remove", "maria")),
    ],
)
def test_each_verb_does_what_it_says(run: Run, service: FakeService, command: tuple[str, ...], asked: Any) -> None:
    done = run("contact", *command)
    assert (done.code, service.asked[-1]) == (0, asked)
    assert run("contact", *command, "--json").json["fingerprint"] == "abcd-efgh-2345-6723"


def test_what_ends_with_a_block_and_who_listed_an_old_name_is_said(run: Run, service: FakeService) -> None:
    assert RUN in run("contact", "block", "maria").out
    assert "listed under the old name by scribe" in run("contact", "rename", "maria", "mia").err
    assert CAPTURE in run("contact", "remove", "maria").out


def test_waiting_captures_are_listed_with_what_lets_them_go_on(run: Run, service: FakeService) -> None:
    """R32: size, sender and when; never a word of it."""
    service.captures.rows = [STUB]
    listed = run("captures")
    assert f"runner accept {CAPTURE}" in listed.out
    assert "2 KiB" in listed.out
    run("captures", "--all")
    assert service.asked[-1] == ("captures", "all")
    run("captures", "--state", "closed")
    assert service.asked[-1] == ("captures", "closed")
    service.captures.rows = []
    assert run("captures").out == "no captures wait\n"
    assert run("captures", "--json").json == {"captures": []}


def test_what_waits_is_on_the_list_of_what_needs_a_person(run: Run, service: FakeService) -> None:
    """cli.md: approvals, stubs, unknown effects, in one list."""
    service.captures.rows = [STUB, {**STUB, "id": "c_123456789abcdefg", "state": "stored"}]
    items = {item["id"]: item for item in run("todo", "--json").json["items"]}
    assert items[CAPTURE]["command"] == f"runner accept {CAPTURE}"
    assert items["c_123456789abcdefg"]["command"] == "runner start c_123456789abcdefg"
    assert "waits to be let in" in run("todo").out


@pytest.mark.parametrize("verb", ["accept", "start", "dismiss"])
def test_a_waiting_capture_is_let_in_started_or_closed(run: Run, service: FakeService, verb: str) -> None:
    assert run(verb, CAPTURE).code == 0
    assert service.asked[-1] == (verb, CAPTURE)
    assert run(verb, CAPTURE, "--json").json["capture"] == CAPTURE
    assert run(verb, "../etc").code == 2


def test_the_owner_sends_as_a_contact(run: Run, service: FakeService) -> None:
    sent = run("send", "scribe", "--note", "x", "--as", "maria", "--wait")
    assert service.asked[-1] == ("send as", ("maria", Capture(agent="scribe", note="x")))
    assert (sent.code, "it is stub" in sent.out) == (0, True)
    assert run("send", "scribe", "--note", "x", "--as", "nobody").code == 3


@pytest.mark.parametrize("more", [("--as", "maria"), ("--wait",), ("--json-lines",)])
def test_what_does_not_go_with_an_address_is_usage(run: Run, more: tuple[str, ...]) -> None:
    assert run("send", "scribe", "--note", "x", "--to", "https://a.example", *more).code == 2
