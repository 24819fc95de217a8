"""Saved verdicts and the owner's default: kept, audited, read alike with and without a supervisor, gone with their tool."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from runner.errors import NotFoundError, StoreError
from runner.model import Digest, Policy
from runner.policy import PolicyContext, SavedVerdict
from runner.profiles.examples import EmptyDirectory
from runner.store import Choices, Store, VerdictRow, audit, choices, profiles, verdicts
from runner.store.offline import looking, place_of
from tests.helpers.stored import ANNA, BEN, NOW, opened


def save(store: Store, tool: str, word: str, *, agent: str = "scribe", at: float = NOW) -> VerdictRow:
    row = VerdictRow(agent=agent, tool=tool, verdict=word, set_by=ANNA, set_at=at)
    with store.begin() as conn:
        return verdicts.put(conn, row)


def saved(store: Store, agent: str = "scribe") -> dict[str, str]:
    with store.reading() as conn:
        return dict(choices.of_agent(conn, agent).saved)


def follow(store: Store, before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    with store.begin() as conn:
        return verdicts.follow(conn, "scribe", before=before, after=after, who=ANNA, now=NOW)


def test_a_saved_verdict_survives_a_restart(path: Path) -> None:
    """R125."""
    with opened(path) as store:
        row = save(store, "Write", "block")
    with opened(path) as store, store.reading() as conn:
        assert verdicts.of_agent(conn, "scribe") == (row,)


def test_each_change_is_in_the_audit_with_who_made_it(store: Store) -> None:
    """R28, A2."""
    save(store, "Write", "allow")
    save(store, "Write", "block", at=NOW + 1)
    with store.begin() as conn:
        assert verdicts.reset(conn, "scribe", tool="Write", who=BEN, now=NOW + 2) == ("Write",)
        found = [(row.event, json.loads(row.data)) for row in audit.of_subject(conn, "scribe")]
    anna = {"uid": 1000, "channel": "cli", "name": "anna"}
    assert found == [
        ("verdict.set", {"tool": "Write", "verdict": "allow", "before": None, "by": anna}),
        ("verdict.set", {"tool": "Write", "verdict": "block", "before": "allow", "by": anna}),
        (
            "verdict.reset",
            {"tool": "Write", "before": "block", "why": "reset", "by": {"uid": 1001, "channel": "web", "name": None}},
        ),
    ]


def test_a_reset_forgets_one_tool_or_all_of_one_agent(store: Store) -> None:
    """R138."""
    for tool in ("Write", "Edit", "Read"):
        save(store, tool, "ask")
    save(store, "Write", "block", agent="reader")
    with store.begin() as conn:
        assert verdicts.reset(conn, "scribe", tool="Edit", who=ANNA, now=NOW) == ("Edit",)
        assert verdicts.reset(conn, "scribe", tool="Edit", who=ANNA, now=NOW) == ()
        assert verdicts.reset(conn, "scribe", tool=None, who=ANNA, now=NOW) == ("Read", "Write")
    assert (saved(store), saved(store, "reader")) == ({}, {"Write": "block"})


def test_a_verdict_dies_with_its_tool_and_is_not_there_when_the_tool_comes_back(store: Store) -> None:
    """R137: what loosens is gone at once; what binds runs under way is gone when the tool is published anew."""
    save(store, "Write", "allow")
    save(store, "Edit", "block")
    save(store, "Read", "ask")
    assert follow(store, ("Read", "Write", "Edit"), ("Read",)) == ("Write",)
    assert saved(store) == {"Edit": "block", "Read": "ask"}
    assert follow(store, ("Read",), ("Read", "Write", "Edit")) == ("Edit",)
    assert saved(store) == {"Read": "ask"}


def test_publishing_the_same_tools_keeps_what_is_saved(store: Store) -> None:
    save(store, "Write", "allow")
    assert follow(store, ("Write",), ("Write", "Read")) == ()
    assert saved(store) == {"Write": "allow"}


def test_the_owners_default_and_ceiling_are_kept_and_audited(path: Path) -> None:
    """R66, R75."""
    with opened(path) as store, store.begin() as conn:
        assert choices.of_agent(conn, "") == Choices()
        choices.set_policy(conn, policy="skip", ceiling="read_only", who=ANNA, now=NOW)
        choices.set_policy(conn, policy="ask", ceiling=None, who=ANNA, now=NOW)
    with opened(path) as store, store.begin() as conn:
        assert choices.of_agent(conn, "scribe") == Choices(policy="ask", ceiling="read_only")
        told = [json.loads(row.data) for row in audit.of_subject(conn, "owner")]
    assert [(row["policy"], row["before"], row.get("ceiling")) for row in told] == [
        ("skip", None, "read_only"),
        ("ask", "skip", None),
    ]


@pytest.mark.parametrize(
    ("chosen", "host", "expected"),
    [
        (Choices(), Policy.SKIP, (Policy.ASK, Policy.SKIP)),
        (Choices(policy="skip"), Policy.READ_ONLY, (Policy.SKIP, Policy.READ_ONLY)),
        (Choices(ceiling="ask"), Policy.READ_ONLY, (Policy.ASK, Policy.ASK)),
        (Choices(ceiling="skip"), Policy.ASK, (Policy.ASK, Policy.ASK)),
    ],
)
def test_the_stricter_ceiling_counts_and_nothing_chosen_means_ask(
    chosen: Choices, host: Policy, expected: tuple[Policy, Policy]
) -> None:
    """R67, R75."""
    context = chosen.into(PolicyContext(view=EmptyDirectory()), host=host)
    assert (context.owner_policy, context.max_policy) == expected


@pytest.mark.parametrize("chosen", [Choices(saved={"Write": "yes"}), Choices(policy="all"), Choices(ceiling="")])
def test_a_word_that_nobody_knows_is_an_error_and_no_permission(chosen: Choices) -> None:
    """P10."""
    with pytest.raises(StoreError):
        chosen.into(PolicyContext(view=EmptyDirectory()), host=Policy.SKIP)


def test_what_is_blocked_is_what_the_choices_say(store: Store) -> None:
    """C10."""
    save(store, "Write", "block")
    save(store, "Edit", "ask")
    with store.reading() as conn:
        chosen = choices.of_agent(conn, "scribe")
    context = chosen.into(PolicyContext(view=EmptyDirectory()), host=Policy.SKIP)
    assert (chosen.blocked, context.saved) == ({"Write"}, {"Write": SavedVerdict.BLOCK, "Edit": SavedVerdict.ASK})


def test_a_retired_agent_takes_nothing_new_and_keeps_its_past(store: Store) -> None:
    """Issue 4 item 5: its profile is still there for the runs that have it; publishing brings it back."""
    with store.begin() as conn:
        row = profiles.put(conn, "1", digest=Digest("sha256:1"), name="scribe", now=1.0, who=BEN)
        assert (row.author, row.retired) == (1001, None)
        assert profiles.retire(conn, "scribe", who=ANNA, now=2.0).retired == 2.0
        with pytest.raises(NotFoundError, match="retired"):
            profiles.current(conn, "scribe")
        with pytest.raises(NotFoundError, match="retired"):
            profiles.retire(conn, "scribe", who=ANNA, now=3.0)
        assert profiles.all(conn) == ()
        assert profiles.get(conn, row.digest).text == "1"
        again = profiles.put(conn, "1", digest=row.digest, name="scribe", now=4.0, who=ANNA)
        assert (again.uid, again.retired, again.author) == (row.uid, None, 1001)
        assert [link.event for link in audit.of_subject(conn, "scribe")] == [
            "profile.publish",
            "profile.retire",
            "profile.publish",
        ]


def test_the_door_without_a_supervisor_sees_the_same(path: Path) -> None:
    """Issue 4 item 4: profiles and choices, read-only, beside a running writer."""
    with opened(path) as store:
        save(store, "Write", "block")
        with store.begin() as conn:
            profiles.put(conn, '{"a":1}', digest=Digest("sha256:1"), name="scribe", now=1.0)
            profiles.put(conn, '{"b":2}', digest=Digest("sha256:2"), name="reader", now=1.0)
            profiles.retire(conn, "reader", who=ANNA, now=2.0)
            choices.set_policy(conn, policy="skip", ceiling="read_only", who=ANNA, now=NOW)
            expected = choices.of_agent(conn, "scribe")
        with looking(path) as rows:
            assert rows.choices("scribe") == expected
            assert rows.profile("scribe") == '{"a":1}'
            assert rows.profiles() == ('{"a":1}',)
            for name, why in (("reader", "retired"), ("nobody", "no profile")):
                with pytest.raises(NotFoundError, match=why):
                    rows.profile(name)
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                list(rows._asks.rows("DELETE FROM verdicts"))
    with looking(path) as rows:
        assert rows.choices("scribe") == expected


def test_no_database_and_a_foreign_one_are_told_apart(path: Path) -> None:
    with pytest.raises(NotFoundError, match="no database yet"), looking(path):
        pass
    assert not path.exists()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE other (x)")
    with pytest.raises(StoreError, match="no such table"), looking(path) as rows:
        rows.profiles()
    path.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match="not a database"), looking(path) as rows:
        rows.profiles()


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:////var/lib/x.db", Path("/var/lib/x.db")),
        ("sqlite:////var/lib/x.db?timeout=3", Path("/var/lib/x.db")),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
    ],
)
def test_only_sqlite_is_a_file(url: str, file: Path | str) -> None:
    assert place_of(url) == file
