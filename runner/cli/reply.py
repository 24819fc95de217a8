"""replies and reply: what agents answered to somebody else, and whether it may go out (R19-R21)."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from runner.api.client import Client, as_object
from runner.cli.credential import keyed
from runner.cli.decide import said_yes
from runner.cli.shared import DECISIONS, JsonFlag, Reason, as_list, connect, now, reach
from runner.cli.showing import report_shown
from runner.errors import AlreadyDecidedError, UsageError
from runner.model import JsonObject
from runner.render import Screen, Styled
from runner.render.replies import show_replies, show_reply
from runner.render.values import signed, text_at

_HELD = "held"
_Ref = Annotated[str, typer.Argument(metavar="ID", help="A reply's id, or its beginning.")]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(name="replies", rich_help_panel=DECISIONS, epilog="Example: runner replies --all")(list_all)
    group = typer.Typer(no_args_is_help=True, help="Review what an agent answered to somebody else, and let it go out or not.")
    group.command(epilog="Example: runner reply show p_2v8xk1")(show)
    group.command(epilog="Example: runner reply approve p_2v8xk1")(keyed(approve))
    group.command(epilog="Example: runner reply deny p_2v8xk1 --reason 'it names a customer'")(deny)
    app.add_typer(group, name="reply", rich_help_panel=DECISIONS)


def list_all(
    *,
    state: Annotated[str | None, typer.Option(help="held, approved, released, denied or expired.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that are decided, too.")] = False,
    json: JsonFlag = False,
) -> None:
    """List replies to contacts that wait for review, oldest first."""
    screen = Screen(json=json)
    with connect() as client:
        found = as_list(client.get("replies", state="all" if everything else state))
    if json:
        screen.document({"replies": [*found]})
    else:
        show_replies(screen, found, now=now())


def show(ref: _Ref, *, json: JsonFlag = False) -> None:
    """Show a reply whole: the text as it would be sent, to whom, and where each link in it leads.

    Nothing is fetched. A review cannot see what a text hides by encoding it.
    """
    screen = Screen(json=json)
    with connect() as client:
        found = client.record("replies", reach(client, ref, "reply").id)
    if json:
        screen.document(found)
    else:
        show_reply(screen, found, now=now())


def approve(
    ref: _Ref,
    *,
    reason: Reason = None,
    digest: Annotated[str | None, typer.Option(metavar="DIGEST", help="The full digest of what you saw.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; needs --digest.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show a reply whole, ask, and let exactly this text go to its sender, once."""
    screen = Screen(json=json)
    asked = yes or not screen.interactive or json or digest is not None
    if asked and not (yes and digest):
        raise UsageError(
            "cannot release without asking: that needs --yes and the full --digest",
            resolution="runner reply show ID prints the digest; on a terminal, runner reply approve ID shows the text and asks",
        )
    with connect() as client:
        whole = reach(client, ref, "reply").id
        seen = digest if asked else _ask(screen, client, whole)
        if seen is None:
            raise typer.Exit(1)
        found = as_object(client.post("replies", whole, "approve", body={"digest": seen, "reason": reason}))
    if json:
        screen.document(found)
        return
    done = "signed " if text_at(found, "state") == _HELD else "released "
    screen.say(Styled(done, "bold green"), Styled(whole, "cyan"), f" to {text_at(found, 'sender')}")
    if under := signed(found):
        screen.say("  ", Styled("signed", "dim", 9), under)
    screen.say("  ", Styled("digest", "dim", 9), text_at(found, "digest"))


def deny(ref: _Ref, *, reason: Reason = None, json: JsonFlag = False) -> None:
    """Keep a reply back; its sender hears that the capture is closed, and nothing more."""
    screen = Screen(json=json)
    with connect() as client:
        whole = reach(client, ref, "reply").id
        found = as_object(client.post("replies", whole, "deny", body={"reason": reason}))
    if json:
        screen.document(found)
    else:
        screen.say(Styled("denied ", "bold red"), Styled(whole, "cyan"), "; nothing of it is sent")


def _ask(screen: Screen, client: Client, ref: str) -> str | None:
    """Show it whole and ask; the digest of what was shown for a yes, None for everything else.

    Raises:
        AlreadyDecidedError: There is nothing to decide any more.
    """
    reply: JsonObject = client.record("replies", ref)
    if text_at(reply, "state") != _HELD:
        raise AlreadyDecidedError(
            f"cannot release {ref}: it is {text_at(reply, 'state')} already", resolution=f"runner reply show {ref}"
        )
    parts = screen.parts(lambda: show_reply(screen, reply, now=now()))
    asked = f"send this to {text_at(reply, 'sender')}?"
    seen = partial(report_shown, client, reply, surface="cli", parts=parts)
    return text_at(reply, "digest") if said_yes(screen, parts, asked=asked, ref=ref, seen=seen) else None
