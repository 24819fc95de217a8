"""Draws the state machines into docs/states.md, docs/approvals.md and ARCHITECTURE.md, and the map of modules into the latter.

Owns the words around the diagrams of docs/states.md; arrows come from the tables the code moves by (invariant 12), modules
from the tree.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

from runner.approvals.outcomes import ending
from runner.lifecycle import (
    APPROVAL,
    APPROVAL_ENDS,
    CAPTURE,
    CAPTURE_ENDS,
    REPLY,
    REPLY_ENDS,
    RUN,
    RUN_ENDS,
    SHARE,
    SHARE_ENDS,
    ApprovalState,
    CaptureState,
    ReplyState,
    RunState,
    ShareState,
    word,
)

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "runner"
State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


def diagram(table: Mapping[tuple[State, Event], State], *, first: State, ends: frozenset[State]) -> str:
    """A Mermaid state diagram, one arrow per pair of states, its events on it."""
    events: dict[tuple[State, State], list[str]] = {}
    for (before, event), after in table.items():
        events.setdefault((before, after), []).append(event.value)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first.value}"]
    lines += [f"    {before.value} --> {after.value}: {', '.join(names)}" for (before, after), names in events.items()]
    lines += [f"    {end.value} --> [*]" for end in type(first) if end in ends]
    return "\n".join([*lines, "```"])


def arrows(table: Mapping[tuple[State, Event], State]) -> str:
    """One line per state that can be left, with the states it leads to, in the table's order."""
    after: dict[State, list[str]] = {}
    for (before, _), state in table.items():
        targets = after.setdefault(before, [])
        if state.value not in targets:
            targets.append(state.value)
    width = max(len(state.value) for state in after)
    return "\n".join(f"{state.value:<{width}} → {', '.join(targets)}" for state, targets in after.items())


def states_page() -> str:
    """The whole of docs/states.md."""
    words = "\n".join(f"| {state.value} | {word(state)} |" for state in RunState)
    return f"""# States

Made by `make diagrams` from the tables in `runner/lifecycle.py`; a test compares. `store` moves a state by compare-and-set,
and a database trigger made from the same tables aborts every other change.

## A capture

{diagram(CAPTURE, first=CaptureState.RECEIVED, ends=CAPTURE_ENDS)}

## A run

{diagram(RUN, first=RunState.QUEUED, ends=RUN_ENDS)}

People are shown a word:

| state | word |
|---|---|
{words}

## An approval

{diagram(APPROVAL, first=ApprovalState.PENDING, ends=APPROVAL_ENDS)}

## A reply to somebody who is not the owner

{diagram(REPLY, first=ReplyState.HELD, ends=REPLY_ENDS)}

## A share

{diagram(SHARE, first=ShareState.OFFERED, ends=SHARE_ENDS)}
"""


def modules() -> str:
    """One line per room that is a package: its modules."""
    rooms = sorted(path for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
    return "\n".join(f"- **{room.name}**: {', '.join(f'`{name}`' for name in _modules_of(room))}" for room in rooms)


def _modules_of(room: Path) -> list[str]:
    names = (path.relative_to(room).with_suffix("").as_posix() for path in sorted(room.rglob("*.py")))
    return [name for name in names if not name.endswith("__init__")]


def life(page: str) -> str:
    """docs/approvals.md with its two made blocks made anew: the diagram, and what the agent is told at each end.

    Raises:
        ValueError: The marks of a block are missing.
    """
    drawn = diagram(APPROVAL, first=ApprovalState.PENDING, ends=APPROVAL_ENDS)
    return _block(_block(page, "states", drawn), "endings", endings())


def endings() -> str:
    """A table of the ends that the queue itself has words for, a person's reason shown as `…`."""
    told = {ApprovalState.DONE: "what was done, in the broker's words, such as how many bytes were written"}
    told |= {ApprovalState.FAILED: "Failed: this call was approved and tried, but did not succeed: …"}
    rows = [f"| {state.value} | {told.get(state) or ending(state, '…')} |" for state in ApprovalState if state in APPROVAL_ENDS]
    return "\n".join(["| end | the agent is told |", "|---|---|", *rows])


def filled(page: str) -> str:
    """ARCHITECTURE.md with its two made blocks made anew.

    Raises:
        ValueError: The marks of a block are missing.
    """
    parts = (
        f"capture\n{arrows(CAPTURE)}",
        f"run\n{arrows(RUN)}",
        f"approval\n{arrows(APPROVAL)}",
        f"reply\n{arrows(REPLY)}",
        f"share\n{arrows(SHARE)}",
    )
    states = "```\n" + "\n\n".join(parts) + "\n```"
    return _block(_block(page, "states", states), "modules", modules())


def _block(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- {name}: made by make diagrams -->", f"<!-- end of {name} -->"
    head, found, rest = page.partition(begin)
    _, found_end, foot = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"the page lacks {begin} or {end}")
    return f"{head}{begin}\n{text}\n{end}{foot}"


def main() -> int:
    """Write the three pages."""
    (ROOT / "docs/states.md").write_text(states_page(), encoding="utf-8")
    approvals = ROOT / "docs/approvals.md"
    approvals.write_text(life(approvals.read_text(encoding="utf-8")), encoding="utf-8")
    architecture = ROOT / "ARCHITECTURE.md"
    architecture.write_text(filled(architecture.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
