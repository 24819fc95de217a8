"""Waiting for a run or a decision, with a word at least every few seconds.

Owns progress. Watching never changes what is watched: stopping it leaves the run as it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from runner.api.client import Client
from runner.errors import SupervisorUnavailableError
from runner.lifecycle import RUN_ENDS, ApprovalState, RunState
from runner.model import JsonObject
from runner.render import Screen, Styled
from runner.render.values import text_at, texts_at

#: Seconds of silence at the most: below the 5 s that the contract forbids, and a clock that ticks where a person watches.
STEP, TICK = 3.0, 1.0
_ENDS = frozenset(state.value for state in RUN_ENDS)
_UNDECIDED = frozenset({ApprovalState.PENDING.value, ApprovalState.APPROVED.value, ApprovalState.EXECUTING.value})


class Teller:
    """Says what runs do: what is new at once, and that nothing is new before the silence gets long.

    Args:
        screen: Progress goes to its stderr.
        lines: JSON lines on its stdout instead.
    """

    def __init__(self, screen: Screen, *, lines: bool) -> None:
        self._screen = screen
        self._lines = lines
        self._step = TICK if screen.watched else STEP
        self._began = self._spoke = time.monotonic()

    @property
    def rest(self) -> float:
        """Seconds in which nothing has to be said."""
        return max(self._step - (time.monotonic() - self._spoke), 0.0)

    def tell(self, run: JsonObject, *, news: bool, who: str = "") -> None:
        """Say what a run does, or that it still does it.

        Args:
            run: The run's record.
            news: It is new.
            who: Names the run where several are watched.
        """
        self._spoke = time.monotonic()
        seconds = self._spoke - self._began
        if self._lines:
            self._screen.document(_line(run, news=news, seconds=seconds), compact=True)
            return
        clock, word = Styled(f"{seconds:5.1f} s", "dim"), progress_of(run)
        if not news:
            self._screen.beat(clock, "  ", Styled(f"{who}still {word}", "dim"))
            return
        waiting, unknown = texts_at(run, "approvals"), texts_at(run, "unknown")
        self._screen.progress(clock, "  ", Styled(f"{who}{word}", "bold yellow" if waiting or unknown else "cyan"))
        if waiting:
            self._screen.progress("  look and decide: ", Styled(f"runner approve {' '.join(waiting)}", "bold"))
        for ref in unknown:
            self._screen.progress("  look and say: ", Styled(f"runner settle {ref} happened|not-happened", "bold"))


def follow_run(screen: Screen, client: Client, ref: str, *, lines: bool = False) -> JsonObject:
    """Show a run's progress until it ends, and return it.

    Args:
        screen: Progress goes to its stderr, or as JSON lines to stdout.
        client: The supervisor.
        ref: The run.
        lines: JSON lines instead of words.
    """
    teller, shown = Teller(screen, lines=lines), ""
    with goes_on(screen, f"run {ref}", command=f"runner watch {ref}"):
        run = client.record("runs", ref)
        while True:
            word = progress_of(run)
            if word != shown or teller.rest == 0:
                teller.tell(run, news=word != shown)
            shown = word
            if has_ended(run):
                return run
            version = run.get("version")
            run = client.wait("runs", ref, version=version if isinstance(version, int) else 0, seconds=teller.rest)


def follow_approval(client: Client, ref: str) -> JsonObject:
    """Wait until an approval has an outcome or needs a person to settle it."""
    approval = client.record("approvals", ref)
    while approval.get("state") in _UNDECIDED:
        version = approval.get("version")
        approval = client.wait("approvals", ref, version=version if isinstance(version, int) else 0, seconds=STEP)
    return approval


@contextmanager
def goes_on(screen: Screen, what: str, *, command: str) -> Iterator[None]:
    """While somebody watches: when they or the supervisor go away, say that `what` does not, and how to watch it again."""
    try:
        yield
    except KeyboardInterrupt:
        screen.progress(f"{what} goes on; ", Styled(command, "bold"), " follows it")
        raise
    except SupervisorUnavailableError as error:
        raise SupervisorUnavailableError(
            error.brief, details=error.details, resolution=f"{what} goes on with the next supervisor: runner up, then {command}"
        ) from None
    finally:
        screen.calm()


def _line(run: JsonObject, *, news: bool, seconds: float) -> JsonObject:
    facts = {key: run.get(key) for key in ("id", "agent", "state", "word", "progress", "approvals", "unknown", "reason")}
    return {"event": "change" if news else "still", "seconds": round(seconds, 1), **facts}


def progress_of(run: JsonObject) -> str:
    """What is new to a person: what the run does, whom it waits for, how it ended."""
    doing = text_at(run, "progress") or text_at(run, "state")
    missing = [ref for ref in texts_at(run, "approvals") if ref not in doing]
    return f"{doing}: {' '.join(missing)}" if missing else doing


def has_ended(run: JsonObject) -> bool:
    """Whether nothing more will happen in a run."""
    return run.get("state") in _ENDS


def ended_well(run: JsonObject) -> bool:
    """Whether a run ended with a reply."""
    return run.get("state") == RunState.REPLIED.value
