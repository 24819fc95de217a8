"""approver: a person's key for decisions, and who may decide (W2)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from runner.cli.credential import PassphraseOption, ask_passphrase, default_key
from runner.cli.shared import DECISIONS, JsonFlag, connect
from runner.errors import UsageError
from runner.model import JsonObject
from runner.render import Screen, Styled
from runner.render.values import objects_at, text_at

_SHORTEST = 8


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    group = typer.Typer(no_args_is_help=True, help="A person's key for decisions, and who may decide.")
    group.command(epilog="Example: runner approver keygen --out anna.key")(keygen)
    group.command("list", epilog="Example: runner approver list --json")(listing)
    app.add_typer(group, name="approver", rich_help_panel=DECISIONS)


def keygen(
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the private key goes. Else approver.key beside config.toml.")
    ] = None,
    passphrase_fd: PassphraseOption = None,
    no_passphrase: Annotated[
        bool, typer.Option("--no-passphrase", help="Leave the key open to every program that can read the file.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Make a key to sign decisions with, sealed with a passphrase, and print its public half for the operator.

    From the first key under [approvers] keys on, whatever releases something has to be signed. Needs no supervisor.
    """
    from runner.captures.ed25519 import fingerprint, make  # noqa: PLC0415 - a command that is run once

    screen = Screen(json=json)
    path = out or default_key()
    phrase = None if no_passphrase else _new_passphrase(passphrase_fd)
    key = make()
    _write_new(path, key.sealed(phrase))
    if no_passphrase:
        screen.progress(
            Styled("warning: ", "bold yellow"), f"whatever can read {path} can approve; a passphrase would prevent it"
        )
    if json:
        screen.document({"key": key.public, "fingerprint": fingerprint(key.public), "file": str(path)})
        return
    screen.say(Styled("made ", "bold green"), str(path))
    screen.say("  ", Styled("key", "dim", 12), Styled(key.public, "bold"))
    screen.say("  ", Styled("fingerprint", "dim", 12), fingerprint(key.public))
    screen.say(
        "  ", Styled("to use it", "dim", 12), f'the operator adds NAME = "{key.public}" under [approvers.keys], and restarts'
    )


def listing(*, json: JsonFlag = False) -> None:
    """List who may decide: uids and keys, as the supervisor was started with them."""
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("approvers")
    if json:
        screen.document(found)
        return
    uids = found.get("uids")
    screen.say(Styled("uids", "dim", 12), ", ".join(str(uid) for uid in uids) if isinstance(uids, list) else "")
    for key in objects_at(found, "keys"):
        screen.say(Styled("key", "dim", 12), _key_line(key))
    if not objects_at(found, "keys"):
        screen.say(Styled("keys", "dim", 12), "none: a uid is enough to approve; runner approver keygen makes a key")
    screen.say(Styled("tripwires", "dim", 12), "on" if found.get("tripwires") else Styled("off", "bold yellow"))


def _key_line(key: JsonObject) -> str:
    return f"{text_at(key, 'name')} ⟨{text_at(key, 'fingerprint')}⟩ {text_at(key, 'key')}"


def _new_passphrase(descriptor: int | None) -> bytes:
    """A passphrase, typed twice where it is typed.

    Raises:
        UsageError: Empty, too short, or typed differently.
    """
    phrase = ask_passphrase("new passphrase: ", descriptor)
    if len(phrase) < _SHORTEST:
        raise UsageError(
            f"cannot make a key: its passphrase has fewer than {_SHORTEST} characters",
            resolution="a few words; --no-passphrase leaves the key open",
        )
    if descriptor is None and ask_passphrase("the same again: ", None) != phrase:
        raise UsageError("cannot make a key: the passphrases differ", resolution="try again")
    return phrase


def _write_new(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, where there is none yet.

    Raises:
        UsageError: There is one, or it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except FileExistsError:
        raise UsageError(f"cannot make a key: {path} exists", resolution="--out FILE names another") from None
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else "that is no file name"
        raise UsageError(f"cannot make a key: {path}: {cause}", resolution="--out FILE names another") from None
