"""profile check, publish, list, show and retire."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.api.explaining import published
from runner.api.publishing import Checked, examine, publishable
from runner.cli import authoring
from runner.cli.completion import agents
from runner.cli.credential import keyed
from runner.cli.shared import PROFILES, JsonFlag, as_list, connect
from runner.errors import ProfileError
from runner.model import Json, JsonObject
from runner.profiles import Level, line_of
from runner.render import Screen, Styled, show_fields, show_profiles
from runner.render.values import texts_at
from runner.settings import load_settings


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="Write, check and publish agents.")
    group.command(epilog="Example: runner profile new scribe --cwd /srv/agents/scribe")(authoring.new)
    group.command(epilog="Example: runner profile check agents/*.toml")(check)
    group.command(epilog="Example: runner profile publish agents/scribe.toml")(keyed(publish))
    group.command(name="list", epilog="Example: runner profile list --json")(list_all)
    group.command(epilog="Example: runner profile show scribe")(show)
    group.command(epilog="Example: runner profile diff scribe agents/scribe.toml")(authoring.diff)
    group.command(epilog="Example: runner profile retire scribe")(retire)
    group.command(epilog="Example: runner profile schema > profile.schema.json")(authoring.schema)
    app.add_typer(group, name="profile", rich_help_panel=PROFILES)


def check(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Profiles.")], *, json: JsonFlag = False) -> None:
    """Check profiles, their examples and their directories; no supervisor is needed."""
    screen = Screen(json=json)
    found: list[Json] = []
    faults: list[ProfileError] = []
    settings = load_settings()
    others, keys = published(settings), len(settings.approvers.keys)
    for file in files:
        try:
            checked = examine(file.absolute(), others=others, keys=keys)
        except ProfileError as error:
            faults.append(error)
            problems: list[Json] = [*(error.details or error.brief).splitlines()]
            found.append({"file": str(file), "ok": False, "message": error.brief, "problems": problems})
            continue
        row = _row(file, checked)
        found.append(row)
        if not row["ok"]:
            faults.append(
                ProfileError(f"cannot use profile {file}: {_errors(checked)[0]}", resolution="put right what is said above")
            )
        if not json:
            _say(screen, file, checked)
    if json:
        screen.document({"profiles": found})
    for fault in faults[:-1]:
        screen.error(fault)
    if faults:
        raise faults[-1]


def _row(file: Path, checked: Checked) -> JsonObject:
    lines = _lines(file, checked)
    findings: list[Json] = [
        {
            "level": finding.level.value,
            "key": finding.key,
            "line": lines.get(finding.key),
            "message": finding.message,
            "fix": finding.fix or None,
        }
        for finding in checked.findings
    ]
    profile = checked.profile
    return {"file": str(file), "ok": not _errors(checked), "name": profile.name, "digest": profile.digest, "findings": findings}


def _lines(file: Path, checked: Checked) -> dict[str, int]:
    """The line of each key that something is said about, where it is written at all."""
    text = file.read_text(encoding="utf-8", errors="replace")
    places = {finding.key: line_of(text, finding.key) for finding in checked.findings}
    return {key: line for key, line in places.items() if line is not None}


def _errors(checked: Checked) -> list[str]:
    return [f"{finding.key}: {finding.message}" for finding in checked.findings if finding.level is Level.ERROR]


def _say(screen: Screen, file: Path, checked: Checked) -> None:
    profile, lines = checked.profile, _lines(file, checked)
    word = Styled("wrong", "bold red") if _errors(checked) else Styled("fine", "bold green")
    screen.say(word, f" {profile.name}: {len(profile.tools)} tools, {len(profile.examples)} examples hold")
    for finding in checked.findings:
        style = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "dim"}[finding.level]
        place = f"{file}:{lines[finding.key]}: " if finding.key in lines else ""
        screen.say("  ", Styled(finding.level.value, style, 9), f"{place}{finding.key}: {finding.message}")
        if finding.fix:
            screen.say(Styled("", "", 11), Styled("fix ", "dim"), finding.fix)


def publish(file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile.")], *, json: JsonFlag = False) -> None:
    """Check a profile and make it the one that new runs of its agent use."""
    screen = Screen(json=json)
    digest = publishable(file.absolute()).digest
    with connect() as client:
        found = as_object(client.post("profiles", body={"path": str(file.absolute()), "digest": digest}))
    if json:
        screen.document(found)
        return
    for finding in examine(file.absolute(), others=published(load_settings())).findings:
        if finding.level is Level.WARNING:
            screen.progress(Styled("warning: ", "yellow"), f"{finding.key}: {finding.message}")
    if gone := texts_at(found, "forgotten"):
        screen.progress(Styled("note: ", "yellow"), f"what was saved for {', '.join(gone)} is forgotten")
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
    """Show one published profile, whole, with what is saved for its tools."""
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("profiles", name)
    if json:
        screen.document(found)
    else:
        screen.lines(show_fields(found, width=screen.width))


def retire(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A published name.", autocompletion=agents)],
    *,
    json: JsonFlag = False,
) -> None:
    """Take an agent out of service: no capture reaches it any more, runs under way finish; publishing brings it back.

    What was saved for its tools is forgotten.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = as_object(client.post("profiles", name, "retire", body={}))
    if json:
        screen.document(found)
    else:
        screen.say(Styled("retired ", "bold"), name, "; runs under way finish")
