"""Following the log: what changed, what is new, and a supervisor that goes away and comes back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runner.api.client import Client
from runner.cli.inbox.office import Followed, Office
from tests.helpers.fake_replies import REPLY, REPLY_DIGEST
from tests.helpers.fake_service import APPROVAL, CAPTURE, DIGEST, FakeService, an_event


def test_a_lost_supervisor_is_said_and_the_list_is_read_anew_when_it_is_back(
    service: FakeService, shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.cli.inbox.office._REST", 0.01)
    socket = shared[1] / "control.sock"
    paths = [Path("/nowhere/control.sock"), socket]
    heard: list[Followed] = []
    enough = threading.Event()

    def listen(found: Followed) -> None:
        heard.append(found)
        if found.changed:
            enough.set()

    def connect() -> Client:
        return Client(paths.pop(0) if len(paths) > 1 else socket)

    office = Office(Client(socket), connect)
    service.happening = [an_event(3, "approval.deny", "anna") | {"subject": APPROVAL}]
    office.follow(listen)
    try:
        assert enough.wait(20)
    finally:
        office.stop()
    assert "cannot reach the supervisor at /nowhere/control.sock" in heard[0].trouble
    assert heard[1] == Followed(news=True)
    assert heard[2] == Followed(changed=(APPROVAL,), news=False)


def test_what_happens_between_the_list_and_the_first_look_at_the_log_is_told(
    service: FakeService, shared: tuple[FakeService, Path]
) -> None:
    """C5: a decision elsewhere in that moment would else stand on the screen as waiting."""
    socket = shared[1] / "control.sock"
    heard: list[Followed] = []
    told = threading.Event()

    def listen(found: Followed) -> None:
        heard.append(found)
        told.set()

    with Client(socket) as client:
        office = Office(client, lambda: Client(socket))
        office.mark()
        service.event_rows.append(an_event(9, "approval.deny", "anna") | {"subject": APPROVAL})
        office.follow(listen)
        try:
            assert told.wait(20)
        finally:
            office.stop()
    assert heard[0] == Followed(changed=(APPROVAL,), news=False)


def test_a_reply_and_a_call_that_were_on_the_screen_go_on_record_and_nothing_else_does(
    service: FakeService, shared: tuple[FakeService, Path]
) -> None:
    """A2, R28: by the digest that a yes would carry; what is decided without one is not reported."""
    with Client(shared[1] / "control.sock") as client:
        office = Office(client, lambda: client)
        for record in ({"id": APPROVAL, "digest": DIGEST}, {"id": REPLY, "digest": REPLY_DIGEST}, {"id": CAPTURE}):
            office.shown({**record}, [["a card"], ["its end"]])
    told = [(what, found) for what, found in service.asked if what in {"shown", "reply shown"}]
    assert [(what, found[0], found[1]["digest"], found[1]["parts"]) for what, found in told] == [  # type: ignore[index]
        ("shown", APPROVAL, DIGEST, 2),
        ("reply shown", REPLY, REPLY_DIGEST, 2),
    ]
