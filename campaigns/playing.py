"""How a campaign is played: by several workers, until the time is over or Ctrl-C, and every line is on record at once.

Owns that whatever goes wrong with a worker is a row of the table, never a traceback, and that no result is lost with a worker.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from campaigns.tally import Count

Found = list[tuple[str, str, Count]]  #: kind, what exactly, what came of it
NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What the workers share."""

    record: Path  #: a line for each fault
    until: float  #: seconds since boot
    stop: Event
    taken: Synchronized[int]  #: how many of the kills some worker has taken

    @property
    def over(self) -> bool:
        """Whether no further fault begins."""
        return self.stop.is_set() or time.monotonic() > self.until

    def take(self) -> int:
        """The next kill that nobody has taken."""
        with self.taken.get_lock():
            self.taken.value += 1
            return int(self.taken.value) - 1

    def fault(self, kind: str, what: str, work: Callable[[], Count]) -> bool:
        """One fault; False where it could not be played to its end: then nothing it left may be built upon."""
        if self.over:
            return self.note(kind, what, Count(missed=1), why="no time left")
        try:
            count = work()
        except Exception as error:  # noqa: BLE001  the edge: a worker's trouble is a row
            self.note(kind, what, Count(missed=1), why=brief(error))
            return False
        return self.note(kind, what, count)

    def note(self, kind: str, what: str, count: Count, *, why: str = "") -> bool:
        """Say it, and put it on record."""
        said = "ok" if count.clean else f"{NOT_TRIED}: {why}" if why else str(count)
        print(f"  {kind:34} {what:44} {said}", flush=True)
        line = json.dumps([kind, f"{what}: {NOT_TRIED}: {why}" if why else what, asdict(count)])
        with self.record.open("ab", buffering=0) as record:
            record.write(line.encode() + b"\n")
        return True


def brief(error: BaseException) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def recorded(record: Path) -> Found:
    """What is on record."""
    lines = record.read_text().splitlines() if record.exists() else []
    return [(kind, what, Count(**count)) for kind, what, count in map(json.loads, lines)]


def played(
    jobs: Sequence[tuple[str, Callable[..., None], Mapping[str, Any]]], *, record: Path, minutes: float, workers: int
) -> tuple[Found, int]:
    """Play the jobs; what was found, and how many of the kills were taken."""
    context = get_context("spawn")
    play: dict[str, Any] = {"record": record, "until": time.monotonic() + minutes * 60}
    play |= {"stop": context.Event(), "taken": context.Value("i", 0)}
    with (
        stopped_by_signals(play["stop"]),
        ProcessPoolExecutor(max_workers=workers, mp_context=context, initializer=_begin, initargs=(play,)) as pool,
    ):
        futures = [(name, pool.submit(_work, job, arguments)) for name, job, arguments in jobs]
        trouble = [one for name, future in futures for one in _trouble(name, future)]
    return recorded(record) + trouble, play["taken"].value


def _trouble(name: str, job: Future[None]) -> Found:
    error = job.exception()
    if error is None:
        return []
    print(f"  {name}: {NOT_TRIED}: {brief(error)}", file=sys.stderr, flush=True)
    return [(name, f"{name}: {NOT_TRIED}: {brief(error)}", Count(missed=1))]


@contextmanager
def stopped_by_signals(stop: Event) -> Iterator[None]:
    """A first Ctrl-C lets every worker finish its fault and clean up."""

    def heard(*_: object) -> None:
        print("  no further fault begins; what has begun is finished", file=sys.stderr, flush=True)
        stop.set()

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_PLAY: list[Play] = []


def _begin(play: Mapping[str, Any]) -> None:
    os.setpgrp()  # Ctrl-C is for the process that was started by hand
    _PLAY.append(Play(**play))


def _work(job: Callable[..., None], arguments: Mapping[str, Any]) -> None:
    job(_PLAY[-1], **arguments)
