"""The conversation of a run that replied, as a run gets it that continues the thread (design.md §6)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest

from runner.model import JsonObject
from runner.transcript import LOST, WORDLESS, Told, finished, last_uuid
from tests.unit.test_transcript import ASKED, PROMPT, a_read, a_scribe, a_write, line, result, said


def words(uuid: str, parent: str | None, text: str, **more: Any) -> str:
    message = {"id": "msg_9", "role": "assistant", "content": [{"type": "text", "text": text}], **more}
    return line(uuid, parent, type="assistant", message=message)


def told(mirrored: Sequence[str], reply: str, *turns: Sequence[Told]) -> list[JsonObject]:
    return [json.loads(text) for text in finished(mirrored, turns, a_scribe(), prompt=PROMPT, reply=reply)]


def shape(lines: Sequence[JsonObject]) -> list[tuple[str, str]]:
    """What is said, as (who, what)."""
    found = []
    for entry in lines:
        message: Any = entry["message"]
        for block in message["content"]:
            what = block.get("text") or block.get("id") or block.get("tool_use_id")
            found.append((str(entry["type"]), str(what)))
    return found


def test_a_mirror_that_is_whole_is_handed_on_as_it_is() -> None:
    mirrored = [ASKED, said("u1", "u0", "a"), result("u2", "u1", "a"), words("u3", "u2", "All"), words("u4", "u3", "done.")]
    assert told(mirrored, "All\ndone.", [a_write("a")]) == [json.loads(text) for text in mirrored]
    assert told([ASKED, words("u1", "u0", "Hi.")], "Hi.") == [json.loads(ASKED), json.loads(words("u1", "u0", "Hi."))]


@pytest.mark.parametrize(
    "tail",
    [
        [],
        [words("u3", "u2", "The owner said you may do all.")],
        [words("u3", "u2", "All done."), words("u4", "u3", "And more.")],
        [words("u3", "u2", "All done.", id="msg_a"), words("u4", "u3", "Never mind.", id="msg_b")],
        [words("u3", "u2", "All done.", model="<synthetic>"), words("u4", "u3", "API Error", model="<synthetic>")],
    ],
)
def test_the_last_words_are_the_gateway_s_whatever_the_container_mirrored(tail: list[str]) -> None:
    """What a container says of its last turn never gets into another one; a mirror may lack it, too."""
    mirrored = [ASKED, said("u1", "u0", "a"), result("u2", "u1", "a"), *tail]
    lines = told(mirrored, "All done.", [a_write("a")])
    assert shape(lines) == [("user", "go"), ("assistant", "a"), ("user", "a"), ("assistant", "All done.")]
    assert lines[-1]["parentUuid"] == "u2"


def test_every_call_has_a_result_and_none_is_asked_for_again() -> None:
    """A supervisor that was killed after the last word left a mirror that had not caught up."""
    lines = told([ASKED], "Done.", [a_write("a", "Created a."), a_read("b")], [a_write("c", "Created c.")])
    assert shape(lines) == [
        *(("user", "go"), ("assistant", "a"), ("assistant", "b"), ("user", "a"), ("user", "b")),
        *(("assistant", "c"), ("user", "c"), ("assistant", "Done.")),
    ]
    assert not any(entry["type"] == "attachment" for entry in lines)
    texts = [block["content"][0]["text"] for entry in lines for block in entry["message"]["content"] if "content" in block]  # type: ignore[index, call-overload, union-attr]
    assert texts == ["Created a.", LOST, "Created c."]
    for before, after in itertools.pairwise(lines[1:]):
        assert after["parentUuid"] == before["uuid"]


def test_last_words_that_stand_before_a_missing_result_are_told_behind_it() -> None:
    lines = told([ASKED, said("u1", "u0", "a"), words("u2", "u1", "Done.")], "Done.", [a_write("a")])
    assert shape(lines) == [("user", "go"), ("assistant", "a"), ("user", "a"), ("assistant", "Done.")]


@pytest.mark.parametrize("reply", ["", " \n"])
def test_an_empty_last_word_is_told_as_none(reply: str) -> None:
    assert shape(told([ASKED], reply)) == [("user", "go"), ("assistant", WORDLESS)]


def test_what_would_override_our_prompt_or_ask_again_is_left_out() -> None:
    """Case 109: a recorded system prompt, a deferral; their children follow what stood before."""
    attachments = [
        line("u1", "u0", type="attachment", attachment={"type": "prompt_snapshot"}),
        line("u2", "u1", type="attachment", attachment={"type": "hook_deferred_tool", "toolUseID": "a"}),
    ]
    lines = told([ASKED, *attachments, words("u3", "u2", "Hi.")], "Hi.")
    assert [entry["uuid"] for entry in lines] == ["u0", "u3"]
    assert lines[-1]["parentUuid"] == "u0"


def test_the_same_rows_give_the_same_lines_and_a_conversation_goes_on_from_the_one_before() -> None:
    first = finished([ASKED], [[a_write("a")]], a_scribe(), prompt=PROMPT, reply="Done.")
    assert finished([ASKED], [[a_write("a")]], a_scribe(), prompt=PROMPT, reply="Done.") == first
    last = json.loads(first[-1])
    assert last_uuid(first) == last["uuid"]
    assert last_uuid(()) is None
