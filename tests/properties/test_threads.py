"""Whatever is sent, ended and tried again in whichever order: a thread is one chain of replies that only grows."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import RunnerError, UsageError
from runner.fence import system_rule
from runner.lifecycle import RUN_ENDS, RunState
from runner.render.text import show_inline
from runner.store import runs, threads
from runner.supervisor.endings import Ending
from runner.supervisor.threads import named
from tests.helpers.door import Door
from tests.helpers.stored import opened
from tests.helpers.talking import Talk

STEPS = st.tuples(st.sampled_from(["send", "send", "reply", "reply", "fail", "cancel", "again", "taint"]), st.integers(0, 7))


@given(st.text(max_size=60))
def test_a_name_is_taken_as_it_is_shown_or_not_at_all(text: str) -> None:
    """R-ids of names: bounded, ASCII, nothing that a screen would have to escape, nothing that two readers read apart."""
    try:
        name = named(text)
    except UsageError:
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,39}", text, re.ASCII) is None
    else:
        assert name == text == show_inline(text)
        assert 1 <= len(name.encode()) <= 40


@given(st.text(alphabet="0123456789abcdef", min_size=16, max_size=32), st.lists(st.from_regex(r"[0-9a-f]{32}", fullmatch=True)))
def test_the_rule_names_every_fence_of_a_conversation_and_only_the_new_one_as_its_own(nonce: str, earlier: list[str]) -> None:
    """F4, R9: without a past it is the very rule of every other run."""
    rule = system_rule(nonce, earlier)
    assert rule.startswith(system_rule(nonce))
    assert (rule == system_rule(nonce)) is (not earlier)
    behind = rule.removeprefix(system_rule(nonce))
    assert re.findall(r'fence="([0-9a-f]+)"', behind) == earlier


def check(talk: Talk) -> None:
    """What always holds."""
    with talk.door.store.reading() as conn:
        rows = runs.list(conn)
        replied = {row.id for row in rows if row.state is RunState.REPLIED}
        chain = threads.last(conn, "taxes")
        ids = () if chain is None else (*threads.before(conn, chain), chain)
        assert set(ids) == replied  # every reply is in the one chain, and nothing else is
        assert sum(row.state not in RUN_ENDS for row in rows) <= 1
        for row in rows:
            before = threads.before(conn, row.id)
            assert set(before) <= replied - {row.id}
            came = {says for run in before for says in talk.tainted_by(run)}
            assert came <= set(talk.tainted_by(row.id))
            assert row.strict is bool(came)
        assert len({row.session_id for row in rows if row.id in replied}) <= 1


@settings(max_examples=10)
@given(st.lists(STEPS, max_size=12))
def test_every_reply_is_in_the_one_chain_and_at_most_one_run_is_under_way(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder) / "runner.db") as store:
        talk = Talk(Door(store))
        talk.publish(strict=False)
        sent: list[str] = []
        for step, which in steps:
            run = sent[which % len(sent)] if sent else ""
            try:
                if step == "send":
                    sent.append(str(talk.send()["run"]))
                elif run:
                    act(talk, step, run)
            except (RunnerError, AssertionError):
                pass  # refused: it must have changed nothing
            check(talk)


def act(talk: Talk, step: str, run: str) -> None:
    if step == "again":
        talk.again(run)
    elif talk.row(run).state not in RUN_ENDS:
        if step == "taint":
            talk.taint(run)
        else:
            talk.end(run, Ending(step))


@pytest.mark.parametrize("name", ["a", "taxes-2026", "0", "a.b_c-d", "x" * 40])
def test_plain_names_are_names(name: str) -> None:
    assert named(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", ".", "..", "Taxes", "a b", "a/b", "a\n", "x" * 41, "täx", "\u0430", "\u0661", "a\u200b", "a\x00"]
)
def test_others_are_none(name: str) -> None:
    with pytest.raises(UsageError):
        named(name)
