"""Any turns, any cut of the mirror, any decisions: a resumed run loses no call and doubles none (design.md §3.8, issue 3)."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runner.model import JsonObject
from runner.transcript import LOST, NOT_RUN, Resumption, Scribe, Told, resume

PROMPT: JsonObject = {"role": "user", "content": [{"type": "text", "text": "go"}]}


@dataclass(frozen=True)
class Call:
    """A call as generated: `kind` says what the rows know of it."""

    wire_id: str
    kind: str  # read, gated, denied, undeclared
    text: str

    def told(self) -> Told:
        name = {"read": "Read", "gated": "mcp__runner__Write", "denied": "Read", "undeclared": "undeclared__Bash"}[self.kind]
        return Told(
            wire_id=self.wire_id,
            name=name,
            arguments={"file_path": self.text},
            text=None if self.kind == "read" else self.text,
            is_error=self.kind in ("denied", "undeclared"),
            askable=self.kind != "undeclared",
        )


KINDS = st.sampled_from(["read", "gated", "denied", "undeclared"])
#: Few texts, so that calls are identical (case 55). No two ids are: the desk sees to that (B11).
CALLS = st.builds(Call, wire_id=st.uuids().map(str), kind=KINDS, text=st.sampled_from(["x", "y"]))
TURNS = st.lists(st.lists(CALLS, min_size=1, max_size=5), min_size=1, max_size=4)


def whole_mirror(every_turn: Sequence[Sequence[Call]], order: Sequence[int]) -> list[str]:
    """The lines an honest CLI would have mirrored had it come to the end of the last turn; `order` shuffles results."""
    numbers = itertools.count()
    lines: list[JsonObject] = [{"type": "queue-operation"}, _line(next(numbers), "user", PROMPT)]
    lines.append({**_line(next(numbers), "attachment"), "attachment": {"type": "prompt_snapshot", "prompt": "theirs"}})
    for number, turn in enumerate(every_turn):
        for call in turn:
            told = call.told()
            block: JsonObject = {"type": "tool_use", "id": call.wire_id, "name": told.name, "input": dict(told.arguments)}
            lines.append(_line(next(numbers), "assistant", {"id": f"msg_{number}", "role": "assistant", "content": [block]}))
        results = [turn[index] for index in sorted(range(len(turn)), key=lambda index: order[index % len(order)])]
        for call in results:
            result: JsonObject = {"type": "tool_result", "tool_use_id": call.wire_id, "content": "from the container"}
            lines.append(_line(next(numbers), "user", {"role": "user", "content": [result]}))
    return [json.dumps(line) for line in lines]


def _line(number: int, kind: str, message: JsonObject | None = None) -> JsonObject:
    line: JsonObject = {"type": kind, "uuid": f"m{number}", "parentUuid": f"m{number - 1}" if number else None}
    return line if message is None else line | {"message": message}


def a_scribe(prefix: str = "w") -> Scribe:
    numbers = itertools.count()
    return Scribe(session_id="s", cli_version="2", new_uuid=lambda: f"{prefix}{next(numbers)}", timestamp="2026")


def blocks(lines: Sequence[str]) -> list[tuple[str, str, str]]:
    """(type, id, message id) of every tool block, in order."""
    found = []
    for text in lines:
        message: Any = json.loads(text).get("message") or {}
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block["type"] in ("tool_use", "tool_result"):
                found.append((block["type"], block.get("id") or block["tool_use_id"], message.get("id", "")))
    return found


def deferrals(lines: Sequence[str]) -> list[str]:
    attachments = [json.loads(line).get("attachment") or {} for line in lines]
    return [one["toolUseID"] for one in attachments if one.get("type") == "hook_deferred_tool"]


def check(resumption: Resumption, every_turn: Sequence[Sequence[Call]]) -> None:
    """Every call of every turn is there, in order, and ends with one result or is the deferred one."""
    lines = [*resumption.kept, *resumption.added]
    asked = [wire_id for kind, wire_id, _ in blocks(lines) if kind == "tool_use"]
    assert asked == [call.wire_id for turn in every_turn for call in turn]
    results = Counter(wire_id for kind, wire_id, _ in blocks(lines) if kind == "tool_result")
    wanted = Counter(asked)
    assert deferrals(resumption.kept) == []
    if resumption.deferred is not None:
        deferred = every_turn[-1][resumption.deferred]
        assert deferrals(lines) == [deferred.wire_id]
        assert deferred.kind != "undeclared"
        wanted[deferred.wire_id] -= 1
    else:
        assert deferrals(lines) == []
    assert results == +wanted
    assert (resumption.deferred is None) is all(call.kind == "undeclared" for call in every_turn[-1])
    assert "prompt_snapshot" not in "".join(lines)
    check_order(lines)
    check_tree(lines)


def check_order(lines: Sequence[str]) -> None:
    """A result never stands before its call, and a new reply not before all results of the one before."""
    open_ids: Counter[str] = Counter()
    reply = ""
    for kind, wire_id, message_id in blocks(lines):
        if kind == "tool_use":
            if message_id != reply:
                assert not +open_ids
                reply = message_id
            open_ids[wire_id] += 1
        else:
            open_ids[wire_id] -= 1
            assert open_ids[wire_id] >= 0


def check_tree(lines: Sequence[str]) -> None:
    """Every line's parent stands before it."""
    seen: set[str | None] = {None}
    for text in lines:
        entry = json.loads(text)
        if "uuid" in entry:
            assert entry["parentUuid"] in seen
            seen.add(entry["uuid"])


@given(TURNS, st.data())
def test_whatever_the_mirror_lacks_every_call_ends_with_one_result_or_is_the_deferred_one(
    every_turn: list[list[Call]], data: st.DataObject
) -> None:
    mirror = whole_mirror(every_turn, data.draw(st.permutations(range(5))))
    cut = data.draw(st.integers(0, len(mirror)))
    told = [[call.told() for call in turn] for turn in every_turn]
    resumption = resume(mirror[:cut], told, a_scribe(), prompt=PROMPT)
    check(resumption, every_turn)
    check_texts(resumption, every_turn)


def check_texts(resumption: Resumption, every_turn: Sequence[Sequence[Call]]) -> None:
    """Our lines say what is on record, and of a read only that its result is not there."""
    calls = {call.wire_id: call for turn in every_turn for call in turn}
    last = {call.wire_id for call in every_turn[-1]}
    for text in resumption.added:
        message: Any = json.loads(text).get("message") or {}
        for block in message.get("content", []):
            if block["type"] == "tool_result":
                call = calls[block["tool_use_id"]]
                expected = (NOT_RUN if call.wire_id in last else LOST) if call.kind == "read" else call.text
                assert block["content"] == [{"type": "text", "text": expected}]
                assert block["is_error"] is (call.kind != "gated")
    unrun = [every_turn[-1][index] for index in resumption.unrun]
    assert all(call.kind == "read" for call in unrun)


@given(TURNS, st.data())
def test_resuming_again_and_again_changes_nothing_more(every_turn: list[list[Call]], data: st.DataObject) -> None:
    """A crash right after the lines were stored, as often as it likes."""
    mirror = whole_mirror(every_turn, data.draw(st.permutations(range(5))))
    cut = data.draw(st.integers(0, len(mirror)))
    told = [[call.told() for call in turn] for turn in every_turn]
    first = resume(mirror[:cut], told, a_scribe(), prompt=PROMPT)
    stored = [*mirror[:cut], *first.added]
    second = resume(stored, told, a_scribe("v"), prompt=PROMPT)
    check(second, every_turn)
    assert deferrals(second.added) == deferrals(first.added)
    assert len(second.added) == (second.deferred is not None)
    third = resume([*stored, *second.added], told, a_scribe("u"), prompt=PROMPT)
    assert (third.kept, third.deferred) == (second.kept, second.deferred)


@given(TURNS, TURNS, st.data())
def test_a_run_that_goes_on_after_a_resumption_can_be_resumed_again(
    before: list[list[Call]], after: list[list[Call]], data: st.DataObject
) -> None:
    """Park, resume, more turns, park: the second resumption builds on the lines of the first."""
    mirror = whole_mirror(before, [0])
    told = [[call.told() for call in turn] for turn in before]
    first = resume(mirror[: data.draw(st.integers(0, len(mirror)))], told, a_scribe(), prompt=PROMPT)
    lines = [*first.kept, *first.added]
    if first.deferred is not None:
        wire_id = before[-1][first.deferred].wire_id
        block: JsonObject = {"type": "tool_result", "tool_use_id": wire_id, "content": "told by the handler"}
        lines.append(json.dumps({"type": "user", "message": {"role": "user", "content": [block]}}))
    more = [json.loads(line) for line in whole_mirror(after, [0])[3:]]
    for entry in more:
        entry["uuid"], entry["parentUuid"] = f"n{entry['uuid']}", None
        if entry["type"] == "assistant":
            entry["message"]["id"] = f"n{entry['message']['id']}"
    lines += [json.dumps(entry) for entry in more]
    least = len(first.kept) + len(first.added)
    cut = data.draw(st.integers(least, len(lines)))
    all_turns = [*before, *after]
    second = resume(lines[:cut], [[call.told() for call in turn] for turn in all_turns], a_scribe("v"), prompt=PROMPT)
    check(second, all_turns)
