"""profile check, publish, list and show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.api.publishing import Checked, examine, publishable
from runner.cli.completion import agents
from runner.cli.shared import PROFILES, JsonFlag, as_list, connect
from runner.errors import NotFoundError, ProfileError
from runner.model import Json, JsonObject
from runner.profiles import Level
from runner.render import Screen, Styled, show_fields, show_profiles


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="Check and publish agents.")
    group.command(epilog="Example: runner profile check agents/*.toml")(check)
    group.command(epilog="Example: runner profile publish agents/scribe.toml")(publish)
    group.command(name="list", epilog="Example: runner profile list --json")(list_all)
    group.command(epilog="Example: runner profile show scribe")(show)
    app.add_typer(group, name="profile", rich_help_panel=PROFILES)


def check(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Profiles.")], *, json: JsonFlag = False) -> None:
    """Check profiles, their examples and their directories; no supervisor is needed."""
    screen = Screen(json=json)
    found: list[Json] = []
    faults: list[ProfileError] = []
    for file in files:
        try:
            checked = examine(file.absolute())
        except ProfileError as error:
            faults.append(error)
            found.append({"file": str(file), "ok": False, "message": error.brief})
            continue
        row = _row(file, checked)
        found.append(row)
        if not row["ok"]:
            faults.append(
                ProfileError(f"cannot use profile {file}: {_errors(checked)[0]}", resolution="put right what is said above")
            )
        if not json:
            _say(screen, checked)
    if json:
        screen.document({"profiles": found})
    for fault in faults[:-1]:
        screen.error(fault)
    if faults:
        raise faults[-1]


def _row(file: Path, checked: Checked) -> JsonObject:
    findings: list[Json] = [
        {"level": finding.level.value, "key": finding.key, "message": finding.message} for finding in checked.findings
    ]
    profile = checked.profile
    return {"file": str(file), "ok": not _errors(checked), "name": profile.name, "digest": profile.digest, "findings": findings}


def _errors(checked: Checked) -> list[str]:
    return [f"{finding.key}: {finding.message}" for finding in checked.findings if finding.level is Level.ERROR]


def _say(screen: Screen, checked: Checked) -> None:
    profile = checked.profile
    word = Styled("wrong", "bold red") if _errors(checked) else Styled("fine", "bold green")
    screen.say(word, f" {profile.name}: {len(profile.tools)} tools, {len(profile.examples)} examples hold")
    for finding in checked.findings:
        style = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "dim"}[finding.level]
        screen.say("  ", Styled(finding.level.value, style, 9), f"{finding.key}: {finding.message}")


def publish(file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile.")], *, json: JsonFlag = False) -> None:
    """Check a profile and make it the one that new runs of its agent use."""
    screen = Screen(json=json)
    publishable(file.absolute())
    with connect() as client:
        found = as_object(client.post("profiles", body={"path": str(file.absolute())}))
    if json:
        screen.document(found)
    else:
        screen.say(Styled("published ", "bold green"), str(found.get("name")), "  ", Styled(str(found.get("digest")), "dim"))


def list_all(*, json: JsonFlag = False) -> None:
    """List published profiles."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("profiles"))
    if json:
        screen.document({"profiles": [*found]})
    else:
        show_profiles(screen, found)


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A published name.", autocompletion=agents)],
    *,
    json: JsonFlag = False,
) -> None:
    """Show one published profile."""
    screen = Screen(json=json)
    with connect() as client:
        found = next((row for row in as_list(client.get("profiles")) if row.get("name") == name), None)
    if found is None:
        raise NotFoundError(f"cannot show profile {name}: nobody published it", resolution="runner profile list")
    if json:
        screen.document(found)
    else:
        screen.lines(show_fields(found, width=screen.width))
