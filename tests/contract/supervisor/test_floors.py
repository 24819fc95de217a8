"""Runs made strict over their profile, and agents that act unasked and therefore see nothing of others at first (R33-R35)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.captures import from_json, parse, to_json
from runner.errors import CaptureError
from runner.lifecycle import CaptureState
from runner.model import OWNER, Attempt, Capture, Digest, Policy, Profile, Sender, SenderKind
from runner.policy import SavedVerdict
from runner.profiles import to_json as profile_to_json
from runner.settings import Settings
from runner.store import Store, VerdictRow, audit, captures, choices, contacts, profiles, verdicts
from runner.store.contacts import ContactRow
from runner.supervisor.floors import Floors
from runner.supervisor.ids import Ids
from runner.supervisor.intake import Intake, Taken
from runner.supervisor.measures import floors_of
from runner.supervisor.preparation import read_facts
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, opened

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="abcd-efgh-2345-6723")
LOOSE: dict[str, Any] = {
    "strict": False,
    "policy": Policy.SKIP,
    "tools": ("Read", "Write", "CreateFolder"),
    "contacts": ("maria",),
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "db") as found:
        with found.begin() as conn:
            row = ContactRow(
                petname="maria",
                skeleton="maria",
                kind=SenderKind.CONTACT,
                key="k",
                fingerprint=MARIA.fingerprint or "",
                verified=True,
                created=NOW,
            )
            contacts.insert(conn, row, who=ANNA)
        yield found


def published(store: Store, **changes: Any) -> Profile:
    profile = replace(a_profile(name="scribe", **changes), digest=Digest(f"sha256:{os.urandom(32).hex()}"))
    with store.begin() as conn:
        profiles.put(conn, json.dumps(profile_to_json(profile)), digest=profile.digest, name="scribe", now=NOW)
    return profile


def intake(floors: Floors | None = None) -> Intake:
    return Intake(clock=lambda: NOW, ids=Ids(os.urandom), enqueue=lambda *_, **__: None, floors=floors or Floors())


def taken(store: Store, sender: Sender, floors: Floors | None = None, *, strict: bool = False) -> Taken:
    with store.begin() as conn:
        return intake(floors).receive(conn, Capture(agent="scribe", note="go", strict=strict), sender)


@pytest.mark.parametrize(
    ("floors", "asked", "strict"),
    [(Floors(), False, False), (Floors(strict=True), False, True), (Floors(), True, True), (Floors(strict=True), True, True)],
)
def test_a_run_is_strict_when_the_host_or_its_sender_says_so_whatever_its_profile_says(
    store: Store, floors: Floors, asked: bool, strict: bool
) -> None:
    """R33: it is on record with the run, and the profile by which its calls are decided is strict with it."""
    published(store, **LOOSE)
    run = taken(store, OWNER, floors, strict=asked).run
    assert run is not None
    assert run.strict is strict
    with store.reading() as conn:
        (queued,) = [row for row in audit.of_subject(conn, run.id) if row.event == "run.queue"]
        facts = read_facts(conn, Attempt(run.id, 0, 0), run)
    assert json.loads(queued.data)["strict"] is strict
    assert facts.profile.strict is strict


def test_a_setting_of_the_environment_makes_every_run_strict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """R33."""
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path))
    assert floors_of(Settings()).strict is False
    monkeypatch.setenv("RUNNER_STRICT", "true")
    assert floors_of(Settings()).strict is True


def test_a_sender_can_ask_for_a_strict_run_and_for_no_other(store: Store) -> None:
    """R33: the word is kept with the capture, so that it counts when the capture is started later."""
    asked = parse('{"agent": "scribe", "note": "x", "strict": true}')
    assert from_json(to_json(asked)) == asked
    assert parse('{"agent": "scribe", "note": "x", "strict": false}').strict is False
    with pytest.raises(CaptureError, match="strict"):
        parse('{"agent": "scribe", "note": "x", "strict": "no"}')
    published(store, wake=False, **LOOSE)
    with store.begin() as conn:
        kept = intake().receive(conn, asked, OWNER)
        assert kept.state is CaptureState.STORED
        run = intake().start(conn, kept.capture).run
    assert run is not None
    assert run.strict is True
    published(store, **LOOSE | {"strict": True})
    again = taken(store, OWNER, strict=False).run
    assert again is not None
    assert again.strict is True


def save(store: Store, tool: str, word: SavedVerdict) -> None:
    with store.begin() as conn:
        verdicts.put(conn, VerdictRow(agent="scribe", tool=tool, verdict=word.value, set_by=ANNA, set_at=NOW))


@pytest.mark.parametrize(
    ("changes", "saved", "floors", "state"),
    [
        ({}, None, Floors(), CaptureState.STUB),
        ({"policy": Policy.READ_ONLY}, None, Floors(), CaptureState.DELIVERED),
        ({"policy": Policy.READ_ONLY}, "Write", Floors(), CaptureState.STUB),
        ({"strict": True}, None, Floors(), CaptureState.DELIVERED),
        ({"strict": True}, "Write", Floors(), CaptureState.DELIVERED),
        ({"tools": ("Read", "Write")}, None, Floors(), CaptureState.DELIVERED),
        ({}, None, Floors(ceiling=Policy.READ_ONLY), CaptureState.DELIVERED),
        ({}, None, Floors(strict=True), CaptureState.DELIVERED),
    ],
    ids=[
        *("skip makes folders unasked", "reads only", "a standing yes to Write", "strict"),
        *("strict, and the yes counts for nothing", "no tool that would", "below the ceiling", "a strict host"),
    ],
)
def test_an_agent_that_acts_unasked_is_handed_nothing_of_a_contact_before_a_person_lets_it_in(
    store: Store, changes: dict[str, Any], saved: str | None, floors: Floors, state: CaptureState
) -> None:
    """R34, R35, C7: a verified contact's capture is a stub there; let in, its run is strict; the owner's own begins at once."""
    published(store, **LOOSE | changes)
    if saved is not None:
        save(store, saved, SavedVerdict.ALLOW)
    found = taken(store, MARIA, floors)
    assert found.state is state
    own = taken(store, OWNER, floors)
    assert own.state is CaptureState.DELIVERED
    if state is not CaptureState.STUB:
        assert found.run is not None
        assert found.run.strict is True
        return
    with store.begin() as conn:
        assert captures.get(conn, found.capture).state is CaptureState.STUB
        (held,) = [row for row in audit.of_subject(conn, found.capture) if row.event == "capture.hold"]
        assert json.loads(held.data)["why"] == "its agent does more than read unasked"
        accepted = intake(floors).accept(conn, found.capture, by=ANNA)
    assert accepted.run is not None
    assert accepted.run.strict is True


def test_the_owners_default_of_acting_unasked_counts_too(store: Store) -> None:
    """R35: for a profile that names no policy."""
    published(store, **LOOSE | {"policy": None})
    assert taken(store, MARIA).state is CaptureState.DELIVERED
    with store.begin() as conn:
        choices.set_policy(conn, policy="skip", ceiling=None, who=ANNA, now=NOW)
    assert taken(store, MARIA).state is CaptureState.STUB
