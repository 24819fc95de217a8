"""A mirrored transcript is held against the calls on record before another container gets it (case 109)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.errors import SandboxMismatchError
from runner.supervisor.mirrored import check_mirrored
from runner.transcript import Told

READ = Told(wire_id="t1", name="Read", arguments={"file_path": "in.txt", "limit": 5}, text=None)
WRITE = Told(wire_id="t2", name="mcp__runner__Write", arguments={"file_path": "a"}, text="written a\n")
DENIED = Told(wire_id="t3", name="Read", arguments={"file_path": "/etc"}, text="Refused (outside).", is_error=True)
ODD = Told(wire_id="t4", name="Read", arguments={}, text="Refused (malformed).", is_error=True, askable=False)
TURNS = [[READ, WRITE], [DENIED, ODD]]


def line(kind: str, *blocks: Any) -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": list(blocks)}})


def call(told: Told, **changes: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": told.wire_id, "name": told.name, "input": dict(told.arguments), **changes}


def result(identity: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


HONEST = [
    line("user", text("go")),
    json.dumps({"type": "attachment", "attachment": {"type": "date"}}),
    json.dumps(["no line of a conversation"]),
    line("assistant", text("so"), call(READ, input={"limit": 5.0, "file_path": "in.txt"}), call(WRITE)),
    line("user", result("t1", "whatever it found")),
    line("user", result("t2", [text("written a"), text("<system-reminder>x</system-reminder>")])),
    line("assistant", call(DENIED), call(ODD, input={"__unparsedToolInput": {"raw": "{", "len": 1}})),
    line("user", result("t3", "Refused (outside).", is_error=True), result("t4", "not JSON", is_error=True)),
    line("assistant", call(READ, id="t0"), text("a turn that the CLI lost")),
    line("user", result("t0", "its result")),
]


def check(*lines: str) -> None:
    check_mirrored([*HONEST, *lines], TURNS, made={"t0", "t1", "t2", "t3", "t4"})


def test_what_an_honest_container_mirrors_is_on_record() -> None:
    check()


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (line("assistant", call(READ, id="t9")), "a call that the model did not make"),
        (line("assistant", call(READ, input={"file_path": "b"})), "otherwise than the model made it"),
        (line("assistant", call(READ, input=None)), "otherwise than the model made it"),
        (line("assistant", call(READ, name="Grep")), "otherwise than the model made it"),
        (line("assistant", call(WRITE, input={"file_path": "a", "content": "x"})), "otherwise than the model made it"),
        (line("assistant", call(ODD, name="Grep")), "otherwise than the model made it"),
        (line("user", result("t9", "done")), "a result of a call that the model did not make"),
        (line("user", result("t2", "written b")), "an outcome that is not on record"),
        (line("user", result("t2", [])), "an outcome that is not on record"),
        (line("user", result("t2", None)), "an outcome that is not on record"),
        (line("user", result("t3", "root:x:0:0")), "an outcome that is not on record"),
        (line("user", result("t3", "Refused (outside).")), "an outcome that is not on record"),
    ],
)
def test_a_transcript_that_tells_a_call_or_an_outcome_otherwise_goes_to_no_container(lie: str, says: str) -> None:
    with pytest.raises(SandboxMismatchError, match=says):
        check(lie)


def test_an_error_claims_nothing_that_was_done() -> None:
    """A CLI whose input ends says of the call that waits that it failed."""
    check(line("user", result("t2", "the stream was closed", is_error=True)))
