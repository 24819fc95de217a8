"""up and down: the supervisor in the background.

Owns the waiting: until it is ready, and until it has parked what runs. How a process is started there is `launching`'s.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from runner.api.client import Client
from runner.cli.follow import STEP, TICK
from runner.cli.launching import Launched, launch, read_tail
from runner.cli.shared import SUPERVISOR, JsonFlag, as_list
from runner.errors import NotAllowedError, RunnerError, SupervisorUnavailableError
from runner.lifecycle import RunState
from runner.render import Screen, Styled
from runner.render.values import text_at
from runner.settings import Settings, control_socket, load_settings, private_directory
from runner.supervisor.lock import holder

#: Seconds in which a supervisor is ready: recovery looks at every interrupted effect first.
READY_SECONDS = 120.0
_PAUSE = 0.1
#: Seconds in which a supervisor that runs tells what it does; it may be the reason for stopping it that it does not.
_PATIENCE = 5.0
_IN_CONTAINERS = frozenset({RunState.STARTING.value, RunState.RUNNING.value, RunState.HELD.value})


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: ANTHROPIC_API_KEY=… runner up")(up)
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner down")(down)


def up(*, json: JsonFlag = False) -> None:
    """Start the supervisor in the background and wait until it is ready; nothing to do when it runs.

    It is a systemd user unit where a user manager answers, else a process of its own; it logs to serve.log in the state
    directory.
    """
    screen = Screen(json=json)
    settings = load_settings()
    private_directory(settings.state_dir)
    pid, log = _running(screen, settings), None
    started = pid is None
    if pid is None:
        launched = launch(settings)
        pid, log = _ready(screen, settings, launched), launched.log
    if json:
        screen.document({"pid": pid, "started": started, "log": None if log is None else str(log)})
        return
    screen.say(Styled("ready" if started else "runs already", "bold green"), f", pid {pid}")
    if log is not None:
        screen.say("  ", Styled("log", "dim", 6), str(log))
        screen.say("  ", Styled("stop", "dim", 6), "runner down")


def down(
    *,
    now: Annotated[
        bool, typer.Option("--now", help="Don't wait for runs to park; they are recovered at the next start.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Stop the supervisor: runs in containers are parked, effects under way are finished. Exit code 9: none runs."""
    screen = Screen(json=json)
    settings = load_settings()
    pid = holder(settings.state_dir)
    with _handle(settings, pid) as handle:
        waits_for = _in_containers(settings)
        screen.progress(f"stopping pid {pid}", *_parking(waits_for))
        _signal(handle, pid)
        began = time.monotonic()
        while not _gone(handle, TICK / 2 if now else TICK if screen.watched else STEP):
            screen.beat(Styled(f"{time.monotonic() - began:5.1f} s", "dim"), "  still stopping", *_parking(waits_for))
            if now:
                _signal(handle, pid)
        screen.calm()
    if json:
        screen.document({"pid": pid, "stopped": True})
    else:
        screen.say(Styled("stopped", "bold green"), f", pid {pid}; runs that wait go on with ", Styled("runner up", "bold"))


def _running(screen: Screen, settings: Settings) -> int | None:
    """The pid of the supervisor that runs, once it answers; None when there is none, or it ends meanwhile."""

    def look() -> int | None:
        return 0 if holder(settings.state_dir) is None else _answers(settings)

    if holder(settings.state_dir) is None:
        return None
    pid = _until(screen, look, "still waiting for the supervisor that has the state directory to answer")
    if pid is None:
        raise SupervisorUnavailableError(
            f"cannot start: a supervisor (pid {holder(settings.state_dir)}) holds {settings.state_dir} and does not answer",
            resolution="runner down stops it; then runner up",
        )
    return pid or None


def _ready(screen: Screen, settings: Settings, launched: Launched) -> int:
    """The pid of what was launched, once it answers.

    Raises:
        SupervisorUnavailableError: It ended, or is not ready in time; its log's end is in the details.
    """

    def look() -> int | None:
        found = _answers(settings)
        return 0 if found is None and launched.ended() else found

    pid = _until(screen, look, "still starting")
    if pid:
        return pid
    cause = "it ended" if pid == 0 else f"it is not ready after {READY_SECONDS:.0f} s; it may still come"
    raise SupervisorUnavailableError(
        f"cannot start the supervisor: {cause}",
        details=read_tail(launched) or None,
        resolution="runner doctor looks for the cause",
    )


def _until(screen: Screen, look: Callable[[], int | None], word: str) -> int | None:
    """What `look` gives, or None when time is up; with a word now and then."""
    began = spoke = time.monotonic()
    while (found := look()) is None and time.monotonic() - began < READY_SECONDS:
        if time.monotonic() - spoke >= (TICK if screen.watched else STEP):
            spoke = time.monotonic()
            screen.beat(Styled(f"{spoke - began:5.1f} s", "dim"), f"  {word}")
        time.sleep(_PAUSE)
    screen.calm()
    return found


def _answers(settings: Settings) -> int | None:
    """The pid that the control socket tells; None when nobody answers there."""
    path = control_socket(settings)
    if not path.is_socket():
        return None
    try:
        with Client(path, patience=_PATIENCE) as client:
            pid = client.record("status").get("pid")
    except RunnerError:
        return None
    return pid if isinstance(pid, int) else None


def _in_containers(settings: Settings) -> list[str]:
    """Runs that have a container now, as far as the supervisor tells."""
    try:
        with Client(control_socket(settings), patience=_PATIENCE) as client:
            rows = as_list(client.get("runs"))
    except RunnerError:
        return []
    return [text_at(row, "id") for row in rows if row.get("state") in _IN_CONTAINERS]


def _parking(waits_for: list[str]) -> list[str]:
    return [f"; {' '.join(waits_for)} parked first" if waits_for else "; nothing runs in a container"]


@contextmanager
def _handle(settings: Settings, pid: int | None) -> Iterator[int]:
    """A handle on exactly the process that holds the state directory: its number may go to another one meanwhile.

    Raises:
        SupervisorUnavailableError: There is none.
    """
    try:
        handle = os.pidfd_open(pid) if pid else None
    except ProcessLookupError:
        handle = None
    try:
        if handle is None or holder(settings.state_dir) != pid:
            raise SupervisorUnavailableError(
                f"cannot stop the supervisor: none runs in {settings.state_dir}", resolution="runner up starts one"
            )
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _signal(handle: int, pid: int | None) -> None:
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise NotAllowedError(
            f"cannot stop the supervisor: pid {pid} is another user's", resolution="ask them, or use sudo"
        ) from None


def _gone(handle: int, seconds: float) -> bool:
    """Whether the process has ended by then: its handle becomes readable."""
    return bool(select.select([handle], [], [], seconds)[0])
