"""When a thread goes on: with the owner alone, one run at a time, after the last reply, under the profile it began with.

Where a capture belongs is settled in the transaction that takes it; the checks that may have changed by then are repeated when
its run is queued (design.md §6, invariant 10, P4).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.errors import NotAllowedError, ThreadBusyError, ThreadOverError, UsageError
from runner.lifecycle import RunState
from runner.model import CaptureId, RunId, SenderKind
from runner.store import CaptureRow, Connection, ProfileRow, RunRow, runs, taints, threads, transcript
from runner.store.threads import Part, ThreadRow

#: Runs whose conversation one may start from; the system prompt names the fence of each.
MAX_RUNS = 50
#: Characters of their transcripts: what a model can still read is less, and a request's most is twice that.
MAX_CHARS = 16 * 1024 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What was before a run in its thread: anything at all, and anything untrusted."""

    talked: bool = False
    tainted: bool = False


NONE = Before()


def named(text: str) -> str:
    """A thread's name, checked.

    Raises:
        UsageError: It is none.
    """
    if _NAME.fullmatch(text) is None:
        raise UsageError(
            f"cannot use the thread name {text[:80]!r}: it is 1 to 40 of a-z, 0-9, dot, dash and underscore",
            resolution="begin it with a letter or a digit, such as taxes-2026",
        )
    return text


def place(conn: Connection, capture: CaptureRow, stored: ProfileRow, *, name: str, now: float) -> Part:
    """Have a capture that was just taken begin a thread, or continue it after its last reply.

    Raises:
        UsageError: It is no name, or the thread is another agent's.
        NotAllowedError: The capture is not the owner's.
        ThreadBusyError: Its last run has not ended.
        ThreadOverError: The agent's profile has changed since it began, or it is too long.
    """
    doing = f"cannot send to {stored.name} in thread {named(name)}"
    if capture.sender.kind is not SenderKind.OWNER:
        raise NotAllowedError(f"{doing}: only the owner's own captures continue one", resolution="send it without --thread")
    known = threads.get(conn, name)
    if known is None:
        threads.insert(conn, ThreadRow(name=name, agent=stored.name, profile_digest=stored.digest, created=now))
    else:
        _check(conn, known, stored, doing=doing)
    part = Part(name, None if known is None else threads.last(conn, name))
    threads.join(conn, capture.id, part, now=now)
    return part


def continued(conn: Connection, capture: CaptureRow, stored: ProfileRow) -> RunRow | None:
    """The run whose conversation a capture's run is to start from; None where it starts with its own.

    Raises:
        ThreadOverError: The agent's profile has changed since the capture was taken.
    """
    part = threads.of_capture(conn, capture.id)
    known = None if part is None else threads.get(conn, part.thread)
    if part is None or known is None:
        return None
    _same_profile(known, stored, doing=f"cannot start {capture.id} in thread {part.thread}")
    return None if part.continues is None else runs.get(conn, part.continues)


def before(conn: Connection, run: RunId) -> Before:
    """What was before a run in its thread. What it continues has ended, so this never changes."""
    part = threads.of_run(conn, run)
    if part is None or part.continues is None:
        return NONE
    return Before(talked=True, tainted=bool(taints.of_run(conn, part.continues)))


def refuse_again(conn: Connection, row: RunRow) -> None:
    """See that a failed run may go on: not once its thread has.

    Raises:
        UsageError: There is a later capture of the thread.
    """
    part = threads.of_run(conn, row.id)
    if part is None or row.state is not RunState.FAILED:
        return
    if threads.under_way(conn, part.thread) is not None or threads.last(conn, part.thread) != part.continues:
        raise UsageError(
            f"cannot resume {row.id}: its thread {part.thread} went on without it", resolution="send what it was about anew"
        )


def _check(conn: Connection, known: ThreadRow, stored: ProfileRow, *, doing: str) -> None:
    if known.agent != stored.name:
        raise UsageError(f"{doing}: that is a conversation with {known.agent}", resolution="begin a thread under another name")
    _same_profile(known, stored, doing=doing)
    found = threads.under_way(conn, known.name)
    if found is not None:
        raise _busy(*found, doing=doing)
    _short_enough(conn, known.name, doing=doing)


def _busy(capture: CaptureId, run: RunId | None, *, doing: str) -> ThreadBusyError:
    """What is asked next depends on the answer that is still to come: nothing is queued behind it."""
    if run is None:
        return ThreadBusyError(
            f"{doing}: capture {capture} waits for its run",
            resolution=f"runner start {capture} begins it, runner dismiss {capture} ends it",
        )
    return ThreadBusyError(
        f"{doing}: run {run} is under way", resolution=f"runner watch {run} waits for it, runner stop {run} ends it"
    )


def _same_profile(known: ThreadRow, stored: ProfileRow, *, doing: str) -> None:
    """Another prompt, directory or tool list would be an agent that never led this conversation."""
    if known.profile_digest != stored.digest:
        raise ThreadOverError(
            f"{doing}: the profile of {stored.name} has changed since it began",
            resolution="begin a thread under another name; runner threads shows which can go on",
        )


def _short_enough(conn: Connection, name: str, *, doing: str) -> None:
    last = threads.last(conn, name)
    chain = () if last is None else (*threads.before(conn, last), last)
    if len(chain) >= MAX_RUNS:
        raise ThreadOverError(f"{doing}: it has {MAX_RUNS} answers, the most there are", resolution=_ANEW)
    size = transcript.size(conn, *chain)
    if size > MAX_CHARS:
        raise ThreadOverError(
            f"{doing}: its transcript has {size / 2**20:.1f} MiB, {MAX_CHARS // 2**20} are the most", resolution=_ANEW
        )


_ANEW = "begin a thread under another name, and say in it what matters of this one"
