"""demo: the main job on the embedded default, without a key, in the commands a person would type."""

from __future__ import annotations

import asyncio
import shlex
import time
from typing import Annotated

import typer

from runner.api.client import Client, as_object
from runner.cli.decide import ask_person
from runner.cli.follow import ended_well, follow_run
from runner.cli.shared import SUPERVISOR, now
from runner.cli.stage import AGENT, NOTES, Stage, stage, turns
from runner.errors import RunnerError
from runner.lifecycle import RUN_ENDS
from runner.model import JsonObject
from runner.render import Screen, Styled, show_approvals, show_block, show_calls, show_card, show_run
from runner.render.values import objects_at, text_at, texts_at
from runner.settings import load_settings

NOTE = "Summarise notes.md into summary.md"
_ENDS = frozenset(state.value for state in RUN_ENDS)
#: Seconds for a part of the demo that takes two on an idle machine.
_PATIENCE = 180.0


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner demo --yes")(demo)


def demo(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Approve by itself; so it does where nobody can type.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the demo's directory where it is.")] = False,
) -> None:
    """Watch a hosted agent answer a capture: reads run, a write waits for you, the rest is refused."""
    screen = Screen()
    started = time.monotonic()
    with stage(keep=keep, script=turns()) as built:
        play = _Play(screen, built, alone=yes or not screen.interactive)
        try:
            play.run()
        except RunnerError:
            if log := built.tail():
                screen.progress(Styled("the supervisor's log ends so:", "bold red"))
                screen.lines(show_block(log), style="dim", error=True)
            raise
        screen.say()
        screen.say(Styled(f"the whole demo took {time.monotonic() - started:.1f} s", "bold green"))
        if keep:
            screen.say(f"everything of it is in {built.home}")


class _Play:
    """The demo's acts, in order; each says the command it stands for and then does the same through the same door."""

    def __init__(self, screen: Screen, built: Stage, *, alone: bool) -> None:
        self._screen = screen
        self._stage = built
        self._alone = alone
        self._number = 0

    def run(self) -> None:
        """All acts."""
        self._image()
        self._act("a supervisor with a scripted model, a state directory of its own and no key", "runner", "serve")
        self._stage.start()
        self._screen.say("  ", Styled(f"in another terminal: RUNNER_STATE_DIR={self._stage.state} runner status", "dim"))
        (self._stage.folder / "notes.md").write_text(NOTES, encoding="utf-8")
        with self._stage.client() as client:
            self._act("you send the agent a capture; it starts in a fresh container", "runner", "send", AGENT, "--note", NOTE)
            sent = as_object(client.post("captures", body={"agent": AGENT, "note": NOTE}))
            run = self._until_asked(client, str(sent.get("run")))
            self._judged(run)
            for approval in texts_at(run, "approvals"):
                self._decide(client, approval)
            self._end(client, text_at(run, "id"))

    def _image(self) -> None:
        """The image, if this machine has none yet."""
        from runner.app import build_image, show_image  # noqa: PLC0415 - everything they bring is needed by few commands

        settings = load_settings()
        if asyncio.run(show_image(settings)) is None:
            self._act("the sandbox image, once for this machine", "runner", "image", "build")
            asyncio.run(build_image(settings, base=None, progress=self._screen.progress))

    def _act(self, says: str, *command: str) -> None:
        self._number += 1
        self._screen.say()
        self._screen.say(Styled(f"{self._number} ", "bold magenta"), Styled(says, "bold"))
        self._command(*command)

    def _command(self, *command: str) -> None:
        if command:
            self._screen.say("  ", Styled(f"$ {shlex.join(command)}", "cyan"))

    def _until_asked(self, client: Client, ref: str) -> JsonObject:
        """The run once it waits for a person.

        Raises:
            RunnerError: It ended, or took too long, before it asked.
        """
        until = time.monotonic() + _PATIENCE
        run, shown = client.record("runs", ref), ""
        while not texts_at(run, "approvals"):
            word = text_at(run, "progress") or text_at(run, "state")
            if word != shown:
                self._screen.progress("  ", Styled(word, "dim"))
            shown = word
            if text_at(run, "state") in _ENDS or time.monotonic() > until:
                raise RunnerError(f"cannot go on: the run is {text_at(run, 'state')}", details=text_at(run, "reason") or None)
            version = run.get("version")
            run = client.wait("runs", ref, version=version if isinstance(version, int) else 0, seconds=3)
        return run

    def _judged(self, run: JsonObject) -> None:
        self._act("what the agent tried, and what became of it")
        show_calls(self._screen, objects_at(run, "calls"))

    def _decide(self, client: Client, ref: str) -> None:
        self._act("the write waits in the queue; nothing is written yet", "runner", "approvals")
        show_approvals(self._screen, objects_at(as_object(client.get("approvals")), "approvals"), now=now())
        approval = client.record("approvals", ref)
        if self._alone:
            self._act("this is exactly what would happen", "runner", "show", ref)
            show_card(self._screen, approval, now=now())
            digest: str | None = text_at(approval, "digest")
            self._act("yes: the supervisor itself carries it out", "runner", "approve", ref, "--yes", "--digest", str(digest))
        else:
            self._act("this is exactly what would happen; you decide", "runner", "approve", ref)
            digest = ask_person(self._screen, client, ref)
        if digest is None:
            self._command("runner", "deny", ref)
            client.post("approvals", ref, "deny", body={"reason": "declined in the demo", "stop": False})
            return
        found = as_object(client.post("approvals", ref, "approve", body={"digest": digest, "reason": None}))
        self._screen.say("  ", Styled(f"approved {ref}: {text_at(found, 'state')}", "bold green"))

    def _end(self, client: Client, ref: str) -> None:
        self._act("the agent goes on and answers", "runner", "run", "show", ref)
        run = follow_run(self._screen, client, ref)
        show_run(self._screen, run)
        written = self._stage.folder / "summary.md"
        self._act("the file on disk", "cat", str(written))
        if written.exists():
            text = written.read_text(encoding="utf-8").removesuffix("\n")
            self._screen.lines(show_block(text, width=self._screen.width))
        else:
            self._screen.say("  no such file: the write was denied")
        self._act("and nothing is left running", "runner", "status")
        left = self._containers(client)
        self._screen.say("  ", Styled(f"{left} containers left", "bold green" if left == 0 else "bold red"))
        if not ended_well(run) or left != 0:
            raise RunnerError(
                "cannot call this demo a success: see above", resolution="runner demo --keep leaves its files to look at"
            )

    def _containers(self, client: Client) -> int:
        """Containers of this supervisor; a run's is removed a moment after its end."""
        until = time.monotonic() + 20
        while True:
            found = client.record("status").get("containers")
            count = found if isinstance(found, int) else -1
            if count == 0 or time.monotonic() > until:
                return count
            time.sleep(0.2)
