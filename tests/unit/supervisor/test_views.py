"""Rows as the contract's JSON: keys that scripts rely on (cli.md), and no word of the container's as ours."""

from __future__ import annotations

import json
from pathlib import Path

from runner.lifecycle import RunState, word
from runner.model import Attempt, Sender, SenderKind
from runner.store import audit
from runner.supervisor import queries
from runner.supervisor.beside import beside
from runner.supervisor.endings import End, Ending
from runner.supervisor.live import LiveSegment
from runner.supervisor.views import approval_line, approval_view, capture_view, event_line, run_line, run_view, sender_name
from tests.unit.supervisor.world import World, a_turn, play, read, write

#: cli.md, Output.
APPROVAL = {"id", "run", "agent", "tool", "state", "why", "digest", "created", "expires", "sender"}
SHOWN = APPROVAL | {"input", "preview", "warnings", "history", "call_digest"}
RUN = {"id", "state", "agent", "sender", "strict", "segments", "calls", "reply", "usage"}
CALL = {"tool", "verdict", "rank", "reason", "outcome"}


def test_an_approval_has_the_contracts_keys_and_its_exact_input(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        call = write("a.txt", "A\n")
        await world.desk(row).take_turn(a_turn(call))
        done = await world.approve(world.approvals(row.id)[0])
        line = approval_line(done)
        assert line == {
            "id": done.id,
            "run": row.id,
            "agent": "scribe",
            "tool": "Write",
            "does": "Write a new file a.txt, 1 line, 2 bytes",
            "state": "done",
            "why": done.why,
            "digest": done.approval_digest,
            "created": world.now,
            "expires": world.now + world.profile.approvals.expires,
            "sender": "owner",
        }
        assert line.keys() == APPROVAL | {"does"}
        with world.store.reading() as conn:
            history = audit.of_subject(conn, done.id)
            view = queries.whole_approval(conn, done.id[:9])
            more = {"hidden": [], "thread": None}
            assert view == approval_view(done, json.loads(call.raw), history) | beside(conn, done) | more
        assert view.keys() >= SHOWN
        assert (view["input"], view["raw"]) == ({"file_path": "a.txt", "content": "A\n"}, call.raw)
        assert (view["decided_by"], view["paths"]) == ("anna", [{"asked": "a.txt", "resolved": "/workspace/a.txt"}])
        events = [event["event"] for event in view["history"]]  # type: ignore[index, call-overload, union-attr]
        assert events == ["approval.request", "approval.approve", "approval.execute", "approval.succeed"]
        json.dumps(view)

    play(tmp_path, scene)


def test_a_run_has_the_contracts_keys_with_its_calls_and_segments(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)
        await desk.take_turn(a_turn(read("in.txt"), write("a.txt")))
        (waiting,) = world.approvals(row.id)

        def view() -> dict[str, object]:
            with world.store.reading() as conn:
                return dict(run_view(queries.run_facts(conn, row.id), world.live.get(row.id)))

        held = view()
        assert held.keys() >= RUN
        assert held.keys() >= run_line(world.run(row.id)).keys()
        assert (held["state"], held["word"], held["approvals"]) == ("held", "needs you", [waiting.id])
        assert held["progress"] == f"waiting for a person: {waiting.id}"
        counts = {"requests": 1, "turns": 1, "input_tokens": 10, "output_tokens": 5}
        assert held["usage"] == {**counts, "usd": 0.0, "waits_for": None}
        calls = held["calls"]
        assert isinstance(calls, list)
        assert all(call.keys() >= CALL for call in calls)
        assert [(call["tool"], call["verdict"], call["outcome"]) for call in calls] == [
            ("Read", "allow", None),
            ("Write", "ask", None),
        ]
        assert held["segments"] == [
            {"segment": 0, "attempt": 0, "container": None, "created": world.now, "ended": None, "reason": None}
        ]
        await world.deny(waiting)
        world.live.add(LiveSegment(attempt=Attempt(row.id, 0, 0), snapshot=tmp_path, proven=True))
        assert view()["progress"] == "container proven; last call: Write"
        await desk.take_turn(a_turn(text="All done."))
        assert view()["reply"] is None
        await world.end(row, End(ending=Ending.REPLY, reply="All done."))
        ended = view()
        assert (ended["reply"], ended["progress"], ended["word"]) == ("All done.", "replied", "done")
        json.dumps(ended)

    play(tmp_path, scene)


def test_every_state_has_one_of_the_five_words() -> None:
    """Design.md §9."""
    assert {word(state) for state in RunState} <= {"waiting", "doing", "done", "refused", "needs you"}


def test_a_sender_is_named_by_what_the_supervisor_knows() -> None:
    """R14: petname and fingerprint, never a claimed name."""
    assert sender_name(Sender(kind=SenderKind.OWNER)) == "owner"
    assert sender_name(Sender(kind=SenderKind.CONTACT, petname="alice", fingerprint="ab12")) == "alice ⟨ab12⟩"


def test_a_capture_is_shown_without_its_images_bytes(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_run()
        with world.store.reading() as conn:
            whole = queries.whole_capture(conn, row.capture)
            stored = queries.captures.get(conn, row.capture)
        assert (whole["id"], whole["runs"], whole["sender"]) == (row.capture, [row.id], "owner")
        content = {"note": "x", "images": [{"name": "a.png", "media_type": "image/png", "data": "AAAA"}]}
        shown = capture_view(stored, content, [])["content"]  # type: ignore[arg-type]
        assert shown == {"note": "x", "images": [{"name": "a.png", "media_type": "image/png"}]}

    play(tmp_path, scene)


def test_an_event_says_who_did_it_and_holds_no_calls_input(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        row = world.a_running()
        await world.desk(row).take_turn(a_turn(write("a.txt", "SECRET-CONTENT")))
        await world.approve(world.approvals(row.id)[0])
        with world.store.reading() as conn:
            events = [event_line(one) for one in queries.events(conn, 0, 1000)]
        assert all(event.keys() == {"seq", "time", "who", "event", "subject", "data"} for event in events)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        who = {event["event"]: event["who"] for event in events}
        assert (who["approval.approve"], who["run.queue"]) == ("anna", "owner")
        assert "SECRET-CONTENT" not in json.dumps(events)

    play(tmp_path, scene)
