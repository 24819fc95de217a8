"""Waiting for a run or a decision, with a word at least every few seconds.

Owns progress. Watching never changes what is watched: stopping it leaves the run as it is.
"""

from __future__ import annotations

import time

from runner.api.client import Client
from runner.lifecycle import RUN_ENDS, ApprovalState, RunState
from runner.model import JsonObject
from runner.render import Screen, Styled

#: Seconds of one wait: below the 5 s of silence that the contract forbids.
STEP = 3.0
_ENDS = frozenset(state.value for state in RUN_ENDS)
_UNDECIDED = frozenset({ApprovalState.PENDING.value, ApprovalState.APPROVED.value, ApprovalState.EXECUTING.value})


def follow_run(screen: Screen, client: Client, ref: str, *, lines: bool = False) -> JsonObject:
    """Show a run's progress until it ends, and return it.

    Args:
        screen: Progress goes to its stderr, or as JSON lines to stdout.
        client: The supervisor.
        ref: The run.
        lines: JSON lines instead of words.
    """
    started = spoke = time.monotonic()
    run = client.record("runs", ref)
    shown = ""
    while True:
        word = _progress(run)
        if lines and word != shown:
            screen.document(_line(run), compact=True)
        elif not lines and (word != shown or time.monotonic() - spoke >= STEP):
            _tell(screen, run, word if word != shown else "", seconds=time.monotonic() - started)
            spoke = time.monotonic()
        shown = word
        if run.get("state") in _ENDS:
            return run
        run = client.wait("runs", ref, version=_version(run), seconds=STEP)


def follow_approval(client: Client, ref: str) -> JsonObject:
    """Wait until an approval has an outcome or needs a person to settle it."""
    approval = client.record("approvals", ref)
    while approval.get("state") in _UNDECIDED:
        approval = client.wait("approvals", ref, version=_version(approval), seconds=STEP)
    return approval


def ended_well(run: JsonObject) -> bool:
    """Whether a run ended with a reply."""
    return run.get("state") == RunState.REPLIED.value


def _version(record: JsonObject) -> int:
    version = record.get("version")
    return version if isinstance(version, int) else 0


def _waiting(run: JsonObject) -> list[str]:
    found = run.get("approvals")
    return [str(item) for item in found] if isinstance(found, list) else []


def _progress(run: JsonObject) -> str:
    """What is new to a person: the state, what it does, whom it waits for."""
    doing = str(run.get("progress") or run.get("state") or "")
    missing = [ref for ref in _waiting(run) if ref not in doing]
    return f"{doing}: {' '.join(missing)}" if missing else doing


def _tell(screen: Screen, run: JsonObject, news: str, *, seconds: float) -> None:
    clock = Styled(f"{seconds:5.1f} s", "dim")
    if not news:
        screen.progress(clock, "  ", Styled(f"still {run.get('state')}", "dim"))
        return
    waiting = _waiting(run)
    screen.progress(clock, "  ", Styled(news, "bold yellow" if waiting else "cyan"))
    if waiting:
        screen.progress("  look and decide: ", Styled(f"runner approve {' '.join(waiting)}", "bold"))


def _line(run: JsonObject) -> JsonObject:
    return {key: run.get(key) for key in ("id", "state", "word", "progress", "approvals", "reason")}
