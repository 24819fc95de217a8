"""get, and what `send --to` does: the sender's side of somebody else's supervisor. Needs none of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from runner.api.courier import Courier
from runner.api.outbox import Outbox
from runner.captures import keyfile, parse
from runner.cli.contact import default_key
from runner.cli.fetching import PREFIX, fetch_shares
from runner.cli.shared import CAPTURES, JsonFlag
from runner.errors import UsageError
from runner.model import JsonObject
from runner.render import Screen, Styled, json_document, show_block
from runner.render.values import text_at
from runner.settings import load_settings


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    example = "Example: runner get c_7k3m9q2v8xk1abcd --to https://agents.example.org:8443 --wait"
    app.command(rich_help_panel=CAPTURES, epilog=example)(get)


def get(  # noqa: PLR0913 - each is a flag of the contract
    capture: Annotated[
        str | None, typer.Argument(metavar="ID", help="The whole id of a capture or a share; none: what is shared with you.")
    ] = None,
    *,
    to: Annotated[str | None, typer.Option(metavar="URL", help="Where it was sent; by default where its receipt says.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key it was sent with.", show_default=False)] = None,
    ca: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate to trust, PEM.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where a share's files go; nothing there is written over.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until there is an answer.")] = False,
    json: JsonFlag = False,
) -> None:
    """Ask what became of a capture you sent: received, answered or closed, and the reply once it is released.

    With the id of a share: fetch files that were shared with you, into a folder. Without any id: list what there is.
    """
    screen = Screen(json=json)
    shared = capture is None or capture.startswith(PREFIX)
    if out is not None and (capture is None or not shared):
        raise UsageError("cannot use --out: only a share has files", resolution="runner get SHARE --to URL --out DIR")
    receipt = None if capture is None or shared else Outbox(load_settings().state_dir).receipt(capture)
    where = to or (receipt.to if receipt else None)
    if where is None:
        raise UsageError(
            f"cannot ask about {capture or 'shares'}: this machine has no receipt of it",
            resolution="--to URL says where to ask",
        )
    secret = keyfile.read(key or (Path(receipt.key_file) if receipt else default_key()))
    with Courier(where, secret, ca=ca, say=screen.progress) as courier:
        if capture is None or shared:
            fetch_shares(screen, courier, capture, out=out)
            return
        found = _state(screen, courier, capture, wait=wait)
    _show(screen, found)


def _state(screen: Screen, courier: Courier, capture: str, *, wait: bool) -> JsonObject:
    """What became of a capture, at once or as soon as there is an answer."""
    began = time.monotonic()

    def waiting() -> None:
        screen.beat(Styled(f"{time.monotonic() - began:5.0f} s", "dim"), "  received; no answer yet")

    found = courier.outcome(capture, waiting=waiting) if wait else courier.state(capture)
    screen.calm()
    return found


def _show(screen: Screen, found: JsonObject) -> None:
    if screen.json:
        screen.document({key: found.get(key) for key in ("capture", "state", "reply")})
        return
    screen.say(Styled(text_at(found, "capture"), "cyan"), " is ", Styled(text_at(found, "state"), "bold"))
    if reply := text_at(found, "reply"):
        screen.lines(show_block(reply, width=screen.width))


def deliver(body: JsonObject, screen: Screen, *, to: str, key: Path | None, ca: Path | None) -> None:
    """Send a capture to somebody else's supervisor.

    Args:
        body: The capture as JSON.
        screen: Progress goes to its stderr, the receipt to its stdout.
        to: The other side's address.
        key: The sender's key file; None: the usual one.
        ca: A certificate to trust.
    """
    agent = parse(body).agent  # refused here as it would be there
    path = key or default_key()
    secret = keyfile.read(path)
    content = json_document(body, compact=True).encode()
    outbox = Outbox(load_settings().state_dir)
    with Courier(to, secret, ca=ca, say=screen.progress) as courier:
        screen.progress(f"sending {len(content)} bytes to {agent} at {to}")
        sent = courier.send(content, agent=agent, outbox=outbox, key_file=str(path.absolute()))
    if screen.json:
        screen.document({"capture": sent.capture, "state": "received", "to": sent.to, "agent": sent.agent})
        return
    screen.say("received there as ", Styled(str(sent.capture), "bold cyan"))
    screen.progress("the answer, once it is released: ", Styled(f"runner get {sent.capture} --wait", "bold"))
