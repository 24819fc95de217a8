"""What taints a run, and what does not: the owner's own words (P4, R4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.fence import compose
from runner.fence.parse import parse
from runner.model import OWNER, Capture, CaptureId, Image, Sender, SenderKind, ToolCall
from runner.policy.catalogue import TOOLS
from runner.policy.taint import Taint, TaintKind, of_capture, of_result
from tests.helpers.builders import a_call
from tests.helpers.policy import a_context

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="SHA256:abc")
ID = CaptureId("c_1")
NOTE = Capture(agent="scribe", note="do", intent="soon")
PICTURE = Image(name="a.png", media_type="image/png", data=b"x")


def kinds(capture: Capture, sender: Sender = OWNER) -> list[str]:
    found = of_capture(capture, sender, id=ID)
    assert all((one.source, one.sender) == (ID, sender) for one in found)
    return [one.kind.value for one in found]


def test_the_owners_own_note_and_intent_taint_nothing() -> None:
    """R4."""
    assert kinds(NOTE) == []


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("text", "pasted", "text"),
        ("url", "https://a.example", "text"),
        ("title", "A page", "text"),
        ("labels", ("mail",), "text"),
        ("images", (PICTURE,), "image"),
    ],
)
def test_each_other_part_of_a_capture_taints_by_itself(field: str, value: object, kind: str) -> None:
    """P4: pasted and attached content too."""
    assert kinds(replace(NOTE, **{field: value})) == [kind]


def test_whatever_a_contact_sends_is_tainted_by_its_sender() -> None:
    assert kinds(NOTE, MARIA) == ["note"]
    assert kinds(replace(NOTE, note="", intent="", text="page", images=(PICTURE,)), MARIA) == ["text", "image", "note"]


def test_an_empty_block_is_a_block_so_decisions_count_every_run_as_tainted() -> None:
    """C8: any fenced block, and every prompt holds one, be it empty."""
    block = parse(compose(NOTE, OWNER, nonce="ab" * 8).text).block
    assert block.fields == ()


@pytest.mark.parametrize("tool", [*TOOLS, "mcp__mail__read", "Nobody"])
def test_a_result_taints_as_the_catalogue_says_and_an_unknown_tools_always(tool: str) -> None:
    """P7: never by the server's or the model's word."""
    found = of_result(call(tool), a_context())
    untrusted = tool not in TOOLS or TOOLS[tool].returns_untrusted
    assert found == (Taint(kind=TaintKind.RESULT, source=tool) if untrusted else None)


def call(tool: str) -> ToolCall:
    return replace(a_call(), tool=tool)


@pytest.mark.parametrize("kind", TaintKind)
def test_each_source_has_words_that_name_it(kind: TaintKind) -> None:
    assert "the source" in Taint(kind=kind, source="the source").says
