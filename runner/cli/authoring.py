"""profile new, diff and schema: writing a profile, and seeing what a change of it means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from runner.api.publishing import examine
from runner.cli.completion import agents
from runner.cli.shared import JsonFlag, connect
from runner.errors import UsageError
from runner.model import Json
from runner.profiles import Change, Direction, changes, from_json, json_schema, skeleton
from runner.render import Screen, Styled

_NAME = re.compile(r"[a-z0-9-]{1,40}")
_STYLES = {Direction.MORE: ("more", "bold yellow"), Direction.LESS: ("less", "green"), Direction.OTHER: ("other", "dim")}


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters a-z, digits and -, at most 40.")],
    *,
    cwd: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The agent's directory; default: NAME, beside the file.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write it; default: NAME.toml.")] = None,
) -> None:
    """Write a commented profile to start from, and make the agent's directory."""
    screen = Screen()
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"cannot make a profile called {name[:60]!r}", resolution="a name is letters a-z, digits and -, at most 40"
        )
    file = (out or Path(f"{name}.toml")).absolute()
    folder = (cwd or file.parent / name).absolute()
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as made:
            made.write(skeleton(name, cwd=str(folder), file=file.name))
    except OSError as error:
        raise UsageError(
            f"cannot make {error.filename or file}: {error.strerror}", resolution="name another with --out or --cwd"
        ) from None
    screen.say(Styled("made ", "bold green"), str(file), ", its agent works in ", str(folder))
    screen.say("next: ", Styled(f"runner profile check {file}", "bold"), ", then runner profile publish")


def diff(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A published name.", autocompletion=agents)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile it would become.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Say in words what an agent could do more, and less, if a file were published in its place."""
    screen = Screen(json=json)
    after = examine(file.absolute()).profile
    with connect() as client:
        stored = client.record("profiles", name).get("profile")
    before = from_json(stored if isinstance(stored, dict) else {})
    found = changes(before, after)
    if json:
        rows: list[Json] = [{"direction": one.direction.value, "key": one.key, "says": one.says} for one in found]
        screen.document({"before": before.digest, "after": after.digest, "changes": rows})
        return
    if after.name != name:
        screen.progress(
            Styled("note: ", "yellow"), f"the file's name is {after.name}, so publishing it would not change {name}"
        )
    _say(screen, name, found)


def _say(screen: Screen, name: str, found: tuple[Change, ...]) -> None:
    if not found:
        screen.say(f"nothing changes for {name}")
    for change in found:
        word, style = _STYLES[change.direction]
        screen.say(Styled(word, style, 7), f"{name} {change.says}")


def schema() -> None:
    """Print the JSON Schema of a profile: every key with its description, bounds and default."""
    Screen(json=True).document(json_schema())
