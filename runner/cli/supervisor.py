"""serve and status."""

from __future__ import annotations

import asyncio
import os
import sys

import typer

from runner.cli.shared import SUPERVISOR, JsonFlag, connect
from runner.render import Screen, Styled, log_to, show_status
from runner.settings import control_socket, load_settings

#: How the line begins that says requests are answered; `runner demo` and service managers wait for it.
READY = "runner: ready"


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: RUNNER_MODEL=anthropic runner serve")(serve)
    app.command(rich_help_panel=SUPERVISOR, epilog="Example: runner status --json")(status)


def serve() -> None:
    """Run the supervisor in the foreground until SIGTERM."""
    from runner.app import serve as run_supervisor  # noqa: PLC0415 - everything it brings is needed by this command only
    from runner.store.redact import redacted_text  # noqa: PLC0415 - as above

    screen = Screen()
    settings = load_settings()
    log_to(sys.stderr, level=settings.log_level, clean=redacted_text)

    def ready() -> None:
        screen.say(
            Styled(READY, "bold green"), f" on {control_socket(settings)}, pid {os.getpid()}, model {settings.model_kind}"
        )

    asyncio.run(run_supervisor(settings, ready=ready))


def status(*, json: JsonFlag = False) -> None:
    """Say whether the supervisor runs, and what it does. Exit code 9: it does not."""
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("status")
    if json:
        screen.document(found)
    else:
        show_status(screen, found)
