"""Looking and being refused are on record, and bounded (A2, W3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.errors import NotFoundError
from runner.model import JsonObject
from runner.store import ApprovalRow, Store, audit
from runner.supervisor.witness import REFUSED, SHOWN, Witness
from tests.helpers.stored import ANNA, NOW, a_reply, an_approval, opened

CARD: JsonObject = {"surface": "cli", "parts": 2, "render_digest": "sha256:" + "5" * 64}


class Stage:
    """A store with one waiting approval, and a clock that stands."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = NOW
        with store.begin() as conn:
            self.row: ApprovalRow = an_approval(conn)
        self.witness = Witness(store=store, clock=lambda: self.now, who={"uids": [0], "keys": [], "tripwires": True})

    def events(self, subject: str) -> list[tuple[str, JsonObject]]:
        with self.store.reading() as conn:
            return [(link.event, json.loads(link.data)) for link in audit.of_subject(conn, subject)][1:]

    def shown(self, digest: str) -> bool:
        card = {**CARD, "digest": digest}
        return asyncio.run(self.witness.shown(self.row.id[:10], card, who=ANNA))["recorded"] is True


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with opened(tmp_path / "runner.db") as store:
        yield Stage(store)


def test_a_showing_names_surface_parts_digest_and_who(stage: Stage) -> None:
    """A2: and whether what was shown is what is carried out."""
    assert stage.shown(stage.row.approval_digest)
    assert stage.shown("sha256:" + "0" * 64)
    (event, facts), (_, other) = stage.events(stage.row.id)
    assert event == "approval.shown"
    assert (facts["surface"], facts["parts"], facts["fits"], other["fits"]) == ("cli", 2, True, False)
    assert facts["by"] == ANNA.facts()
    with pytest.raises(NotFoundError):
        asyncio.run(stage.witness.shown("a_zzzzzz", {**CARD, "digest": ""}, who=ANNA))


def test_a_reply_that_was_shown_whole_is_on_record_like_a_card(stage: Stage) -> None:
    """A2, R28: under the digest that a yes to it carries."""
    with stage.store.begin() as conn:
        row = a_reply(conn)
    for digest in (row.digest, "sha256:" + "0" * 64):
        card = {**CARD, "digest": digest}
        assert asyncio.run(stage.witness.reply_shown(row.id[:10], card, who=ANNA))["recorded"] is True
    (event, facts), (_, other) = stage.events(row.id)
    assert (event, facts["fits"], other["fits"], facts["by"]) == ("reply.shown", True, False, ANNA.facts())
    with pytest.raises(NotFoundError):
        asyncio.run(stage.witness.reply_shown(stage.row.id, {**CARD, "digest": ""}, who=ANNA))


def test_of_very_many_showings_within_a_minute_not_each_is_on_record(stage: Stage) -> None:
    assert [stage.shown("d") for _ in range(SHOWN + 3)] == [True] * SHOWN + [False] * 3
    stage.now += 60
    assert stage.shown("d")


def test_a_refusal_belongs_to_the_approval_it_was_about_and_many_are_bounded(stage: Stage) -> None:
    """W3: an agent that tries again and again does not fill the disk."""

    async def refuse(ref: str) -> None:
        await stage.witness.refused("approval.tripwire", act="approvals/x/approve", ref=ref, why="CLAUDECODE", who=ANNA)

    asyncio.run(refuse(stage.row.id))
    assert stage.events(stage.row.id) == [
        ("approval.tripwire", {"act": "approvals/x/approve", "why": "CLAUDECODE", "by": ANNA.facts()})
    ]
    for _ in range(REFUSED + 5):
        asyncio.run(refuse(""))
    assert len(stage.events("supervisor")) == REFUSED - 2
