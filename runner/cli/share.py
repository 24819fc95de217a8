"""share and shares: files of yours that a contact may fetch (R26-R28). Nothing leaves without a yes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from runner.api.client import Client, as_object
from runner.cli.credential import chosen_signer, keyed
from runner.cli.decide import confirmed
from runner.cli.outgoing import read_files
from runner.cli.shared import CAPTURES, JsonFlag, Reason, as_list, connect, need_ref, now
from runner.errors import DigestMismatchError, UsageError
from runner.model import Json, JsonObject
from runner.profiles import units
from runner.render import Screen, Styled
from runner.render.shares import show_draft, show_share, show_shares
from runner.render.values import objects_at, size, text_at, texts_at
from runner.settings import control_socket, load_settings

#: Seconds in which even large files are looked through.
_PATIENCE = 300.0
_WITHDRAW = "withdraw"


class _Consent(NamedTuple):
    """What the command line says of a yes."""

    yes: bool
    digest: str | None
    dry_run: bool


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner share report.pdf --to maria --note 'as promised'")(
        keyed(share)
    )
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner shares --all")(shares)


def share(  # noqa: PLR0913 - each is a flag of the contract
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Regular files; or: withdraw SHARE.")],
    *,
    to: Annotated[str | None, typer.Option(metavar="CONTACT", help="Who may fetch them.", show_default=False)] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="What you tell them with it.")] = "",
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long they can be fetched: 12h, 3d; by default 7d.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would leave, and share nothing.")] = False,
    digest: Annotated[str | None, typer.Option(metavar="DIGEST", help="The full digest of what you saw.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; where something was found it needs --digest.")] = False,
    reason: Reason = None,
    json: JsonFlag = False,
) -> None:
    """Show exactly what would leave and what it would give away, ask, and let one contact fetch it with runner get.

    Only what stands there in plain text is looked through: nobody sees into an archive, an office document or a picture.
    runner share withdraw SHARE takes one back: what was not fetched by then never will be.
    """
    screen = Screen(json=json)
    if to is None:
        _withdraw(screen, _withdrawn(files), reason)
        return
    consent = _Consent(yes, digest, dry_run)
    if not dry_run and not yes and (json or digest is not None or not screen.interactive):
        raise UsageError(
            "cannot share without asking: that needs --yes",
            resolution="--dry-run shows what would leave; on a terminal, runner share asks",
        )
    contents = read_files([Path(file) for file in files])
    if not json:
        screen.progress(f"looking through {size(sum(len(data) for _, data in contents))}")
    body: JsonObject = {"to": to, "note": note, "files": _packed(contents)}
    if duration is not None:
        body["seconds"] = _seconds(duration)
    with Client(control_socket(load_settings()), patience=_PATIENCE, signer=chosen_signer()) as client:
        draft = as_object(client.post("shares", "plan", body=body))
        if not _agreed(screen, draft, consent):
            return
        found = as_object(client.post("shares", body={"digest": text_at(draft, "digest")}))
    if json:
        screen.document(found)
        return
    ref = text_at(found, "id")
    screen.say(Styled("shared ", "bold green"), Styled(ref, "bold cyan"), f" with {text_at(found, 'sender')}")
    screen.progress("they fetch it with ", Styled(f"runner get {ref} --to URL --out DIR", "bold"))
    screen.progress(Styled(f"runner share withdraw {ref}", "bold"), " takes it back")


def shares(
    *,
    state: Annotated[str | None, typer.Option(help="offered, fetched, withdrawn or expired.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
    json: JsonFlag = False,
) -> None:
    """List what contacts can fetch, newest first; runner show SHARE shows one whole."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("shares", state="all" if everything else state))
    if json:
        screen.document({"shares": [*found]})
    else:
        show_shares(screen, found, now=now())


def _agreed(screen: Screen, draft: JsonObject, consent: _Consent) -> bool:
    """Show what would leave where somebody may look, and see whether it may; False when it was only to be shown.

    Raises:
        DigestMismatchError: It is not what was seen.
        UsageError: Something was found in it that nobody has seen.
        Exit: A person said no.
    """
    if consent.dry_run:
        screen.document(draft) if screen.json else show_draft(screen, draft)
        return False
    if not consent.yes:
        parts = screen.parts(lambda: show_draft(screen, draft))
        if confirmed(screen, parts, asked=f"let {text_at(draft, 'sender')} fetch this?"):
            return True
        screen.progress("nothing was shared")
        raise typer.Exit(1)
    if consent.digest not in {None, text_at(draft, "digest")}:
        raise DigestMismatchError(
            "cannot share: this is not what you saw", resolution="runner share FILE... --to CONTACT --dry-run shows it as it is"
        )
    if not screen.json:
        _say(screen, draft)
    if consent.digest is None and texts_at(draft, "warnings"):
        raise UsageError(
            f"cannot share without asking: {texts_at(draft, 'warnings')[0]}",
            resolution="--dry-run shows everything; --yes --digest shares it all the same",
        )
    return True


def _say(screen: Screen, draft: JsonObject) -> None:
    """What leaves, on stderr: whoever said yes beforehand can still read it."""
    for file in objects_at(draft, "files"):
        bytes_ = file.get("size")
        shown = size(bytes_) if isinstance(bytes_, int) else ""
        screen.progress(Styled(text_at(file, "name"), "cyan"), f": {shown}, {text_at(file, 'kind')}, {text_at(file, 'digest')}")
    for warning in texts_at(draft, "warnings"):
        screen.progress(Styled("warning: ", "bold red"), warning)


def _withdrawn(words: Sequence[str]) -> str:
    """The share in `withdraw SHARE`."""
    if words[0] != _WITHDRAW:
        raise UsageError("cannot share: with whom?", resolution="--to CONTACT; runner contact list shows them")
    if len(words) != 2:
        raise UsageError("cannot withdraw: give one share", resolution="runner shares lists what can be fetched")
    return words[1]


def _withdraw(screen: Screen, ref: str, reason: str | None) -> None:
    with connect() as client:
        found = as_object(client.post("shares", need_ref(ref), _WITHDRAW, body={"reason": reason}))
    if screen.json:
        screen.document(found)
        return
    screen.say(Styled("withdrawn ", "bold red"), Styled(text_at(found, "id"), "cyan"), "; nothing more of it can be fetched")
    if any(file.get("fetched") is not None for file in objects_at(found, "files")):
        screen.progress(Styled("note: ", "yellow"), "some of it was fetched before: what is with them stays with them")
        show_share(screen, found, now=now())


def _packed(contents: Sequence[tuple[str, bytes]]) -> list[Json]:
    return [{"name": name, "data": base64.b64encode(data).decode("ascii")} for name, data in contents]


def _seconds(text: str) -> int:
    try:
        found = int(units.seconds(text))
    except ValueError as error:
        raise UsageError(f"cannot use --for {text}: {error}") from None
    if found == 0:
        raise UsageError(f"cannot use --for {text}: nobody could fetch it", resolution="such as --for 12h")
    return found
