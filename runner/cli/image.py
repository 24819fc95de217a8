"""image build and show."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from runner.cli.shared import SUPERVISOR, JsonFlag
from runner.errors import NotFoundError
from runner.model import Json, JsonObject
from runner.render import Screen, Styled
from runner.render.values import size, text_at
from runner.settings import load_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="The sandbox image.")
    group.command(epilog="Example: runner image build --base debian:bookworm-slim")(build)
    group.command(epilog="Example: runner image show --json")(show)
    app.add_typer(group, name="image", rich_help_panel=SUPERVISOR)


def build(
    *,
    base: Annotated[str | None, typer.Option(help="Base image; default: a Debian made here.", metavar="IMAGE")] = None,
    json: JsonFlag = False,
) -> None:
    """Build the sandbox image, unless one with the same content is there."""
    from runner.app import build_image  # noqa: PLC0415 - everything it brings is needed by this command only

    screen = Screen(json=json)
    _show(screen, asyncio.run(build_image(load_settings(), base=base, progress=screen.progress)))


def show(*, json: JsonFlag = False) -> None:
    """Show the sandbox image: base, CLI version, content digest, size."""
    from runner.app import show_image  # noqa: PLC0415

    found = asyncio.run(show_image(load_settings()))
    if found is None:
        raise NotFoundError("cannot show the sandbox image: there is none", resolution="runner image build")
    _show(Screen(json=json), found)


def _show(screen: Screen, info: DataclassInstance) -> None:
    record: JsonObject = {field.name: _plain(getattr(info, field.name)) for field in dataclasses.fields(info)}
    if screen.json:
        screen.document(record)
        return
    for name in (name for name in record if record[name] is not None and name != "definitions"):
        value = record[name]
        shown = size(value) if name == "size" and isinstance(value, int) else text_at(record, name)
        screen.say("  ", Styled(name.replace("_", " "), "dim", 16), shown)


def _plain(value: object) -> Json:
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
