"""contact: keys and the people and programs behind them. `keygen` needs no supervisor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.captures import ed25519, keyfile, keys
from runner.cli.shared import CAPTURES, JsonFlag, as_list, connect, now
from runner.model import JsonObject
from runner.render import Screen, Styled
from runner.render.screen import Part
from runner.render.values import age, text_at, texts_at
from runner.settings import config_file

_Petname = Annotated[str, typer.Argument(metavar="PETNAME", help="The name you chose for it.")]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="Who may send captures to your agents, and your own key for theirs.")
    group.command(epilog="Example: runner contact keygen")(keygen)
    group.command(epilog="Example: runner contact add maria ed25519:…")(add)
    group.command(name="list", epilog="Example: runner contact list")(list_all)
    group.command(epilog="Example: runner contact show maria")(show)
    group.command(epilog="Example: runner contact rename maria maria-work")(rename)
    group.command(epilog="Example: runner contact verify maria")(verify)
    group.command(epilog="Example: runner contact block maria")(block)
    group.command(epilog="Example: runner contact unblock maria")(unblock)
    group.command(epilog="Example: runner contact remove maria")(remove)
    app.add_typer(group, name="contact", rich_help_panel=CAPTURES)


def default_key() -> Path:
    """Where a sender's key is unless it says otherwise."""
    return config_file().parent / "contact.key"


def keygen(
    *,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where it goes; 0600.", show_default=False)] = None,
    json: JsonFlag = False,
) -> None:
    """Make a key to send with, and print its public half: give that to whoever you want to send to.

    The private half stays in the file. The fingerprint is what you read to each other over the telephone.
    """
    screen = Screen(json=json)
    path, key = out or default_key(), ed25519.make()
    keyfile.write(path, key)
    if json:
        screen.document({"key": key.public, "fingerprint": keys.shown(key.public), "file": str(path)})
        return
    screen.say(Styled(key.public, "bold cyan"))
    screen.progress("fingerprint ", Styled(f"⟨{keys.shown(key.public)}⟩", "bold"), f"; the private half is in {path}")


def add(
    petname: _Petname,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The line that keygen printed on their machine.")],
    *,
    agent: Annotated[bool, typer.Option("--agent", help="It is a program; profiles list it in from_agents.")] = False,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="You have not checked the key: its captures wait for runner accept.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Let somebody send, under a name of your choosing; each agent's profile says whether it may send to it."""
    body: JsonObject = {"petname": petname, "key": key, "kind": "agent" if agent else "person", "unverified": unverified}
    with connect() as client:
        found = as_object(client.post("contacts", body=body))
    _show(Screen(json=json), found, said="added")


def list_all(*, json: JsonFlag = False) -> None:
    """List who may send."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("contacts"))
    if json:
        screen.document({"contacts": [*found]})
        return
    if not found:
        screen.say("no contacts; runner contact add PETNAME KEY adds one")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(row, "petname"), "bold cyan"),
            f"⟨{text_at(row, 'fingerprint')}⟩",
            text_at(row, "kind"),
            _standing(row),
            age(row.get("created"), now=now()),
        ]
        for row in found
    ]
    screen.table(["contact", "fingerprint", "kind", "standing", "added"], rows)


def show(petname: _Petname, *, json: JsonFlag = False) -> None:
    """Show one contact: its key, the agents that list it, what of it waits."""
    with connect() as client:
        found = client.record("contacts", petname)
    _show(Screen(json=json), found)


def rename(
    petname: _Petname,
    to: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Give a contact another name. Profiles list names: those that have the old one list nobody then."""
    _do(petname, "rename", {"petname": to}, json=json, said="renamed")


def verify(
    petname: _Petname, *, undo: Annotated[bool, typer.Option("--undo", help="Doubt it again.")] = False, json: JsonFlag = False
) -> None:
    """Say that the key is theirs: you have compared fingerprints. From now on their captures need no runner accept."""
    _do(petname, "unverify" if undo else "verify", {}, json=json, said="unverified" if undo else "verified")


def block(petname: _Petname, *, json: JsonFlag = False) -> None:
    """Take nothing more from a contact and hand nothing over, at once; its queued runs are cancelled, what runs goes on."""
    _do(petname, "block", {}, json=json, said="blocked")


def unblock(petname: _Petname, *, json: JsonFlag = False) -> None:
    """Take captures from a contact again."""
    _do(petname, "unblock", {}, json=json, said="unblocked")


def remove(petname: _Petname, *, json: JsonFlag = False) -> None:
    """Forget a contact, at once: its runs end, what of it waits is closed, its shares end, its key is a stranger's."""
    _do(petname, "remove", {}, json=json, said="removed")


def _do(petname: str, verb: str, body: JsonObject, *, json: bool, said: str) -> None:
    with connect() as client:
        found = as_object(client.post("contacts", petname, verb, body=body))
    _show(Screen(json=json), found, said=said)


def _show(screen: Screen, found: JsonObject, *, said: str = "") -> None:
    if screen.json:
        screen.document(found)
        return
    lead = (Styled(f"{said} ", "bold green"),) if said else ()
    screen.say(*lead, Styled(text_at(found, "petname"), "bold cyan"), f" ⟨{text_at(found, 'fingerprint')}⟩, ", _standing(found))
    for key, label in (
        ("key", "key"),
        ("agents", "may send to"),
        ("waiting", "waiting"),
        ("cancelled", "ended"),
        ("closed", "closed"),
        ("withdrawn", "withdrawn"),
    ):
        shown = ", ".join(texts_at(found, key)) or (text_at(found, key) if key == "key" else "")
        if shown:
            screen.say("  ", Styled(label, "dim", 12), shown)
    if lost := texts_at(found, "lost"):
        screen.progress(
            Styled("note: ", "yellow"), f"listed under the old name by {', '.join(lost)}; publish them with the new one"
        )
    if said == "added" and not texts_at(found, "agents"):
        field = "from_agents" if found.get("kind") == "agent" else "contacts"
        screen.progress(Styled("note: ", "yellow"), f"no agent lists it yet: add it to {field} in a profile and publish that")


def _standing(row: JsonObject) -> str:
    parts = [text_at(row, "kind"), text_at(row, "trust")] + (["blocked"] if row.get("blocked") is not None else [])
    return ", ".join(parts)
