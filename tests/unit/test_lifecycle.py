"""The state tables: what is not in them does not happen (invariant 9)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import pytest

from runner.lifecycle import (
    APPROVAL,
    APPROVAL_ENDS,
    CAPTURE,
    CAPTURE_ENDS,
    RUN,
    RUN_ENDS,
    ApprovalEvent,
    ApprovalState,
    CaptureState,
    RunEvent,
    RunState,
    moves,
    sources,
    word,
)

#: design.md §9, written out a second time.
RUN_MOVES = """
    queued>starting queued>failed queued>cancelled
    starting>running starting>parked starting>failed starting>cancelled starting>lost
    running>held running>parked running>replied running>failed running>cancelled running>lost
    held>running held>parked held>failed held>cancelled held>lost
    parked>queued parked>failed parked>cancelled
    failed>queued
"""
CAPTURE_MOVES = """
    received>delivered received>stub received>stored stub>stored stub>closed stored>delivered stored>closed
"""
APPROVAL_MOVES = """
    pending>approved pending>denied pending>expired pending>no_channel pending>cancelled pending>superseded
    approved>executing approved>stale approved>cancelled
    executing>done executing>failed executing>unknown executing>approved
    unknown>done unknown>failed
"""


def written(table: Mapping[tuple[Enum, Enum], Enum]) -> set[str]:
    return {f"{before.value}>{after.value}" for before, after in moves(table)}


def test_a_run_moves_only_as_designed() -> None:
    assert written(RUN) == set(RUN_MOVES.split())


def test_a_capture_is_delivered_once_or_closed_and_never_comes_back() -> None:
    """R36."""
    assert written(CAPTURE) == set(CAPTURE_MOVES.split())


def test_an_approval_moves_only_as_designed() -> None:
    assert written(APPROVAL) == set(APPROVAL_MOVES.split())


def reachable(table: Mapping[tuple[Enum, Enum], Enum], first: Enum) -> set[Enum]:
    found, todo = {first}, [first]
    while todo:
        here = todo.pop()
        new = {after for before, after in moves(table) if before is here} - found
        found |= new
        todo.extend(new)
    return found


@pytest.mark.parametrize(
    ("table", "first", "states"),
    [
        (CAPTURE, CaptureState.RECEIVED, CaptureState),
        (RUN, RunState.QUEUED, RunState),
        (APPROVAL, ApprovalState.PENDING, ApprovalState),
    ],
)
def test_every_state_can_be_reached_from_the_first(
    table: Mapping[tuple[Enum, Enum], Enum], first: Enum, states: type[Enum]
) -> None:
    assert reachable(table, first) == set(states)


@pytest.mark.parametrize(("table", "ends"), [(CAPTURE, CAPTURE_ENDS), (RUN, RUN_ENDS), (APPROVAL, APPROVAL_ENDS)])
def test_nothing_leaves_an_end_and_everything_else_can_be_left(
    table: Mapping[tuple[Enum, Enum], Enum], ends: frozenset[Enum]
) -> None:
    leaves = {(before, after) for (before, event), after in table.items() if event is not RunEvent.RETRY}
    left = {before for before, _ in leaves}
    assert (left | {after for _, after in leaves}) - left == ends


def test_only_a_failed_run_can_be_retried_and_nothing_but_a_retry_leaves_it() -> None:
    """Issue 3 item 4: whoever mended the cause lets it go on."""
    assert sources(RUN, RunEvent.RETRY) == {RunState.FAILED: RunState.QUEUED}
    assert [event for before, event in RUN if before is RunState.FAILED] == [RunEvent.RETRY]


@pytest.mark.parametrize("state", [state for state in RunState if state not in RUN_ENDS])
def test_every_live_run_can_be_stopped_by_a_person(state: RunState) -> None:
    assert RUN[state, RunEvent.CANCEL] is RunState.CANCELLED


def test_an_effect_starts_from_an_approved_row_only() -> None:
    """Invariant 3: nothing but an approval leads to `executing`."""
    assert sources(APPROVAL, ApprovalEvent.EXECUTE) == {ApprovalState.APPROVED: ApprovalState.EXECUTING}
    assert [before for before, after in moves(APPROVAL) if after is ApprovalState.EXECUTING] == [ApprovalState.APPROVED]


def test_an_effect_in_doubt_is_settled_by_a_person_and_never_started_again() -> None:
    """Invariant 4."""
    assert {event for state, event in APPROVAL if state is ApprovalState.UNKNOWN} == {
        ApprovalEvent.SETTLE_HAPPENED,
        ApprovalEvent.SETTLE_NOT_HAPPENED,
    }
    assert ApprovalState.EXECUTING not in reachable(APPROVAL, ApprovalState.UNKNOWN)


def test_only_proof_that_nothing_happened_makes_an_effect_startable_again() -> None:
    """B9."""
    assert [
        key for key, after in APPROVAL.items() if after is ApprovalState.APPROVED and key[0] is ApprovalState.EXECUTING
    ] == [(ApprovalState.EXECUTING, ApprovalEvent.NOT_HAPPENED)]


def test_a_state_that_does_not_know_an_event_is_no_source_of_it() -> None:
    assert sources(RUN, RunEvent.RESUME) == {RunState.PARKED: RunState.QUEUED}


def test_people_are_shown_five_words_and_no_others() -> None:
    """design.md §9."""
    assert {state: word(state) for state in RunState} == {
        RunState.QUEUED: "waiting",
        RunState.STARTING: "doing",
        RunState.RUNNING: "doing",
        RunState.HELD: "needs you",
        RunState.PARKED: "needs you",
        RunState.REPLIED: "done",
        RunState.FAILED: "refused",
        RunState.CANCELLED: "refused",
        RunState.LOST: "refused",
    }
