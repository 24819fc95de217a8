"""approvals demo: made-up calls to practise deciding on (K5).

Nothing of it is real: a state directory, a database and a supervisor of its own, and a scripted model. What is typed goes
through one small program in its directory that knows this supervisor and no other, so no real agent is reached by a slip.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import signal
import time
from collections.abc import Iterator, Sequence
from types import FrameType

from runner.api.client import Client, as_object
from runner.cli.follow import has_ended
from runner.cli.shared import now
from runner.cli.stage import AGENT, Stage, call, stage
from runner.errors import RunnerError
from runner.model import Json, JsonObject
from runner.render import Screen, Styled, show_approvals, show_run
from runner.render.values import objects_at, text_at, texts_at
from runner.settings import load_settings

#: Stands in everything that is made up here.
LABEL = "PRACTICE"
_NOTE = f"{LABEL}: three made-up calls to decide about; nothing of it is real"
_PATIENCE = 180.0
_CALLS = (
    ("approve-me.md", f"{LABEL}: this one is harmless. Look at it, and say yes.\n"),
    ("edit-me.md", f"{LABEL}: tihs line has a mistake in it. Put it right before you say yes.\n"),
    ("deny-me.md", f"{LABEL}: this one should not be written. Say no, and why.\n"),
)


def demo() -> None:
    """Queue made-up calls, labelled PRACTICE, to try approve, deny, --edit and the inbox on; nothing of it is real.

    It has a supervisor and a directory of its own and prints the commands to type in another terminal. It ends when all calls
    are decided, or with Ctrl-C, and leaves nothing behind.
    """
    screen = Screen()
    with _ended_by_signals(), contextlib.suppress(KeyboardInterrupt), stage(keep=False, script=turns()) as built:
        _need_image(screen)
        screen.progress("starting a supervisor that is only for practice")
        built.start()
        with built.client() as client:
            sent = as_object(client.post("captures", body={"agent": AGENT, "note": _NOTE}))
            run = _waiting(client, text_at(sent, "run"))
            _say_commands(screen, built, client=client, calls=texts_at(run, "approvals"))
            _until_decided(screen, client, run)
    screen.say(Styled(f"the {LABEL.lower()} is over; its supervisor and directory are gone", "bold green"))


def turns() -> list[Json]:
    """The scripted model's turns: three calls at once, and a last word."""
    calls = [
        call(number, "mcp__runner__Write", {"file_path": f"/workspace/{name}", "content": content})
        for number, (name, content) in enumerate(_CALLS, 1)
    ]
    first: Json = [{"type": "text", "text": f"{LABEL}: three calls, to be decided in any order."}, *calls]
    return [first, [{"type": "text", "text": f"{LABEL}: all three are decided."}]]


def _need_image(screen: Screen) -> None:
    """The sandbox image, where this machine has none yet."""
    from runner.app import build_image, show_image  # noqa: PLC0415 - everything they bring is needed by few commands

    settings = load_settings()
    if asyncio.run(show_image(settings)) is None:
        screen.progress("building the sandbox image, once for this machine")
        asyncio.run(build_image(settings, base=None, progress=screen.progress))


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A closed window or a plain kill ends it like Ctrl-C, so that its supervisor goes too."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    names = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(name, end) for name in names]
    try:
        yield
    finally:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)


def _waiting(client: Client, ref: str) -> JsonObject:
    """The run once its calls wait.

    Raises:
        RunnerError: It ended, or took too long, before.
    """
    until = time.monotonic() + _PATIENCE
    run = client.record("runs", ref)
    while not texts_at(run, "approvals"):
        if has_ended(run) or time.monotonic() > until:
            raise RunnerError(f"cannot practise: the run is {text_at(run, 'state')}", details=text_at(run, "reason") or None)
        run = _next(client, run)
    return run


def _say_commands(screen: Screen, built: Stage, *, client: Client, calls: Sequence[str]) -> None:
    door = str(built.door())
    edited = built.home / "edit.json"
    name, content = _CALLS[1]
    edited.write_text(json.dumps({"file_path": f"/workspace/{name}", "content": content.replace("tihs", "this")}, indent=1))
    show_approvals(screen, objects_at(as_object(client.get("approvals")), "approvals"), now=now())
    first, second, third = calls
    screen.say(Styled(f"{LABEL}: these calls are made up. In another terminal, try", "bold"))
    for says, words in (
        ("what waits, and one of them whole", ("approvals",)),
        ("", ("show", first)),
        ("yes, after a look at the card", ("approve", first)),
        (f"yes to something better: {edited} holds the changed input", ("approve", second, "--edit", str(edited))),
        ("no", ("deny", third, "--reason", "only practice")),
        ("or all of it on one screen", ("inbox",)),
    ):
        if says:
            screen.say(f"  {says}")
        screen.say("  ", Styled(f"$ {shlex.join((door, *words))}", "cyan"))
    screen.say("  It ends when all three are decided, or with Ctrl-C here.")


def _until_decided(screen: Screen, client: Client, run: JsonObject) -> None:
    left = len(_CALLS)
    while not has_ended(run):
        run = _next(client, run)
        waiting = len(texts_at(run, "approvals"))
        if waiting < left:
            screen.progress(f"decided; {waiting} left" if waiting else "all are decided")
        left = waiting
    show_run(screen, run)


def _next(client: Client, run: JsonObject) -> JsonObject:
    version = run.get("version")
    return client.wait("runs", text_at(run, "id"), version=version if isinstance(version, int) else 0, seconds=3)
