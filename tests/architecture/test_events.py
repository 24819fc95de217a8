"""The page's list of what is on record of a call follows the code (A2)."""

from __future__ import annotations

import re

from runner.lifecycle import ApprovalEvent
from tests.architecture.test_docs import rows
from tests.architecture.tree import ROOT, files

PAGE = (ROOT / "docs/approvals.md").read_text(encoding="utf-8")
_EVENT = re.compile(r'"((?:approval|call)\.[a-z_]+)"')


def listed() -> set[str]:
    """Events in the table."""
    cells = [row[0] for row in rows(PAGE, "What is on record of a call")]
    return {event for cell in cells for event in re.findall(r"`([^`]+)`", cell)}


def written() -> set[str]:
    """Events in the code: every arrow of an approval's table, and each that is named."""
    named = {event for path in files("runner") for event in _EVENT.findall(path.read_text(encoding="utf-8"))}
    return named | {f"approval.{event.value}" for event in ApprovalEvent}


def test_every_event_of_a_call_is_on_the_page_and_no_other() -> None:
    """A2: proposed, decided by policy, requested, shown, notified, decided, claimed, result, expired, stale, settled."""
    assert listed() == written()
