"""A thread goes on with the owner alone, one run at a time, after its last reply, under its profile (design.md §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner.digest import parse_call
from runner.errors import (
    AlreadyDecidedError,
    NotAllowedError,
    PausedError,
    RunnerError,
    ThreadBusyError,
    ThreadOverError,
    UsageError,
)
from runner.lifecycle import CaptureState, RunState
from runner.model import OWNER, FromAgent, Policy, RunId, Verdict
from runner.policy import decide
from runner.profiles.examples import EmptyDirectory
from runner.store import VerdictRow, audit, captures, contacts, pausing, runs, threads, verdicts
from runner.supervisor import threads as rules
from runner.supervisor.contexts import Contexts
from runner.supervisor.endings import Ending
from runner.supervisor.queries import run_facts, view_of, whole_capture
from runner.supervisor.views import run_view
from tests.helpers.door import Door
from tests.helpers.stored import ANNA, an_approval, opened
from tests.helpers.talking import Talk


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    with opened(tmp_path / "runner.db") as store:
        door = Door(store)
        door.publish(strict=False)
        yield Talk(door)


def before(talk: Talk, run: object) -> tuple[RunId, ...]:
    with talk.door.store.reading() as conn:
        return threads.before(conn, RunId(str(run)))


def test_the_first_capture_of_a_name_begins_and_a_later_one_continues_in_the_same_session(talk: Talk) -> None:
    sent = talk.send()
    assert sent["thread"] == {"name": "taxes", "continues": None, "taint": []}
    first = talk.end(sent["run"])
    again = talk.send()
    assert again["thread"] == {"name": "taxes", "continues": first.id, "taint": []}
    second = talk.row(again["run"])
    assert (second.session_id, second.nonce != first.nonce) == (first.session_id, True)
    assert before(talk, second.id) == (first.id,)
    talk.end(second.id)
    third = talk.said()
    assert before(talk, third) == (first.id, second.id)


def test_a_capture_without_a_thread_is_fresh_whatever_threads_there_are(talk: Talk) -> None:
    """Issue 8 item 3: owner captures are fresh unless a thread is named."""
    first = talk.said(text="page")
    alone = talk.take().run
    assert (before(talk, alone.id), talk.tainted_by(alone.id), alone.strict) == ((), [], False)
    assert alone.session_id != talk.row(first).session_id


@pytest.mark.parametrize("by_reading", [True, False])
def test_taint_comes_along_is_told_and_makes_the_run_strict(by_reading: bool, talk: Talk) -> None:
    """P4, design.md §6: also what was read only while the run was under way; a fresh thread has none of it."""
    first = talk.said(read=by_reading, text="" if by_reading else "page")
    source = "results of Read" if by_reading else f"text of capture {talk.row(first).capture}"
    sent = talk.send()
    assert [one["says"] for one in sent["thread"]["taint"]] == [source]
    second = talk.row(sent["run"])
    assert (second.strict, talk.tainted_by(second.id)) == (True, [source])
    talk.end(second.id)
    assert talk.tainted_by(talk.said()) == [source]
    assert talk.row(talk.said("other")).strict is False


def test_a_saved_yes_counts_in_a_thread_only_while_it_is_untainted(talk: Talk) -> None:
    """Design.md §6, R72: of two gates each alone, the profile's floor and the thread's taint."""
    profile = talk.publish(strict=False)
    saved = VerdictRow(agent="tester", tool="Write", verdict="allow", set_by=ANNA, set_at=talk.door.now)
    with talk.door.store.begin() as conn:
        verdicts.put(conn, saved)
    contexts = Contexts(store=talk.door.store, max_policy=Policy.SKIP)

    def said(run: object) -> Verdict:
        found = contexts.fresh(EmptyDirectory(), agent="tester", sender=OWNER, folder=profile.cwd, run=RunId(str(run)))
        call = parse_call("Write", '{"file_path": "a.txt", "content": "x"}')
        return decide(call, profile, replace(found, sensitive=False)).verdict

    first = talk.said(read=True)
    clean = talk.said("clean")
    assert [said(first), said(clean), said(talk.said("clean"))] == [Verdict.ALLOW] * 3
    assert said(talk.said()) is Verdict.ASK


def test_an_untainted_thread_keeps_the_profile_s_own_strictness(talk: Talk) -> None:
    talk.said()
    assert talk.row(talk.send()["run"]).strict is False


def test_what_was_said_before_counts_as_private_and_tainted_as_strict_in_every_decision(talk: Talk) -> None:
    """C9, design.md §6: also where the directory is empty and nothing new comes in."""
    contexts = Contexts(store=talk.door.store, max_policy=Policy.SKIP)
    empty = talk.publish(strict=False).cwd / "empty"
    empty.mkdir(parents=True, exist_ok=True)

    def seen(run: object) -> tuple[bool, bool]:
        found = contexts.fresh(EmptyDirectory(), agent="tester", sender=OWNER, folder=empty, run=RunId(str(run)))
        return found.sensitive, found.thread_tainted

    first = talk.said(read=True)
    clean = talk.said("clean")
    assert (seen(first), seen(clean)) == ((False, False), (False, False))
    assert seen(talk.said()) == (True, True)
    assert seen(talk.said("clean")) == (True, False)


@pytest.mark.parametrize("kind", ["person", "agent"])
def test_nobody_else_s_capture_joins_a_thread(kind: str, talk: Talk) -> None:
    """Invariant 10: refused before anything is kept, whatever the thread is."""
    talk.door.meet(kind=kind)
    talk.publish(strict=False, from_agents=(FromAgent(label="maria", instruction="Sum it up."),))
    talk.said()
    with talk.door.store.reading() as conn:
        sender = contacts.get(conn, "maria").sender
    for name in ("taxes", "new"):
        with pytest.raises(NotAllowedError, match="only the owner"):
            talk.take(sender, thread=name)
    with talk.door.store.reading() as conn:
        assert len(captures.listing(conn)) == 1
        assert threads.get(conn, "new") is None
    assert talk.take(sender).run is not None


def test_one_run_of_a_thread_at_a_time(talk: Talk) -> None:
    first = str(talk.send()["run"])
    with pytest.raises(ThreadBusyError) as busy:
        talk.send()
    assert first in busy.value.brief
    assert f"runner stop {first}" in str(busy.value.resolution)
    assert talk.send("other")["run"] is not None
    talk.end(first)
    assert talk.send()["thread"]["continues"] == first


@pytest.mark.parametrize("ending", [Ending.FAIL, Ending.CANCEL])
def test_after_a_run_without_a_reply_the_thread_goes_on_from_the_last_reply(ending: Ending, talk: Talk) -> None:
    """And what the ended run read does not come along: the model does not see it."""
    first = talk.said()
    lost = str(talk.send(text="page")["run"])
    talk.end(lost, ending)
    sent = talk.send()
    assert (sent["thread"]["continues"], sent["thread"]["taint"]) == (first, [])
    assert before(talk, sent["run"]) == (first,)


def test_a_thread_whose_first_run_failed_begins_anew(talk: Talk) -> None:
    talk.end(talk.send(text="page")["run"], Ending.FAIL)
    sent = talk.send()
    assert sent["thread"] == {"name": "taxes", "continues": None, "taint": []}


def test_a_failed_run_goes_on_only_while_its_thread_has_not(talk: Talk) -> None:
    """Two runs must never both continue one."""
    talk.said()
    failed = str(talk.send()["run"])
    talk.end(failed, Ending.FAIL)
    later = str(talk.send()["run"])
    with pytest.raises(UsageError, match="went on without it"):
        talk.again(failed)
    talk.end(later)
    with pytest.raises(UsageError, match="went on without it"):
        talk.again(failed)
    assert talk.row(failed).state is RunState.FAILED
    newest = str(talk.send()["run"])
    talk.end(newest, Ending.FAIL)
    assert talk.again(newest) is not None
    with pytest.raises(ThreadBusyError):
        talk.send()


def test_a_thread_is_one_agent_s_under_one_profile(talk: Talk) -> None:
    """Another prompt, directory or tool list would be an agent that never led this conversation."""
    talk.said()
    talk.publish(name="clerk")
    with pytest.raises(UsageError, match="a conversation with tester"):
        talk.send(agent="clerk")
    talk.publish(strict=False, system_prompt="You are another one.")
    with pytest.raises(ThreadOverError, match="has changed since it began"):
        talk.send()
    assert [line["over"] for line in talk.listed()] == ["its profile changed"]
    assert talk.send("anew")["thread"]["continues"] is None


def test_a_capture_that_waits_is_in_the_way_and_is_looked_at_again_when_it_starts(talk: Talk) -> None:
    """R17: wake = false; what happened meanwhile counts."""
    talk.publish(strict=False, wake=False)
    waits = talk.send("slow")
    assert (waits["run"], waits["state"]) == (None, CaptureState.STORED.value)
    with pytest.raises(ThreadBusyError, match=waits["capture"]):
        talk.send("slow")
    talk.publish(strict=False, wake=False, system_prompt="You are another one.")
    with pytest.raises(ThreadOverError), talk.door.store.begin() as conn:
        talk.door.intake.start(conn, waits["capture"])
    with talk.door.store.begin() as conn:
        talk.door.intake.dismiss(conn, waits["capture"], by=ANNA)
    with pytest.raises(AlreadyDecidedError), talk.door.store.begin() as conn:
        talk.door.intake.start(conn, waits["capture"])
    with talk.door.store.reading() as conn:
        assert threads.under_way(conn, "slow") is None


def test_a_thread_has_an_end(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded error, in runs and in bytes; the thread stays as it was."""
    run = talk.said()
    talk.mirror(run, ["x" * 400])
    monkeypatch.setattr(rules, "MAX_CHARS", 399)
    with pytest.raises(ThreadOverError, match="its transcript has"):
        talk.send()
    monkeypatch.setattr(rules, "MAX_CHARS", 400)
    monkeypatch.setattr(rules, "MAX_RUNS", 2)
    talk.said()
    with pytest.raises(ThreadOverError, match="2 answers"):
        talk.send()
    assert talk.listed()[0]["runs"] == 2


def test_a_refused_capture_leaves_nothing(talk: Talk) -> None:
    """The thread, its place in it and the capture are one transaction."""
    with pytest.raises(RunnerError):
        talk.send("new", agent="nobody")
    with talk.door.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=talk.door.now)
    with pytest.raises(PausedError):
        talk.send("new")
    with talk.door.store.reading() as conn:
        assert threads.get(conn, "new") is None
        assert captures.listing(conn) == ()


def test_what_is_said_of_a_run_and_of_its_calls_names_the_thread(talk: Talk) -> None:
    first = talk.said(read=True)
    second = talk.row(talk.send()["run"])
    with talk.door.store.begin() as conn:
        shown = run_view(run_facts(conn, second.id), None)
        card = view_of(conn, an_approval(conn, second.id, agent="tester"))
    assert shown["thread"] == card["thread"]
    assert isinstance(shown["thread"], dict)
    assert (shown["thread"]["name"], shown["thread"]["continues"]) == ("taxes", first)
    alone = str(talk.take().run.id)
    with talk.door.store.reading() as conn:
        assert whole_capture(conn, second.capture)["thread"] == shown["thread"]
        assert run_view(run_facts(conn, alone), None)["thread"] is None


def test_the_list_has_what_moved_last_first(talk: Talk) -> None:
    assert talk.listed() == []
    talk.said(read=True)
    talk.door.now += 10
    run = str(talk.send("second")["run"])
    first, other = talk.listed()
    assert (first["name"], first["state"], first["last"], first["taint"]) == ("second", "queued", None, [])
    assert (other["name"], other["agent"], other["runs"], other["over"]) == ("taxes", "tester", 1, None)
    assert [one["says"] for one in other["taint"]] == ["results of Read"]
    assert talk.row(run).state is RunState.QUEUED


def test_beginning_and_joining_are_on_record(talk: Talk) -> None:
    sent = talk.send()
    with talk.door.store.reading() as conn:
        assert [row.event for row in audit.of_subject(conn, "taxes")] == ["thread.begin"]
        assert [row.event for row in audit.of_subject(conn, sent["capture"])] == ["capture.receive", "thread.join"]
        assert audit.verify(conn) is None
        assert len(runs.list(conn)) == 1
