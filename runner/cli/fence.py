"""fence: the exact text that a model would be given for a capture; no run, and no supervisor unless a contact is named."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from runner import captures
from runner.captures import BOUNDS
from runner.cli.shared import CAPTURES, JsonFlag, connect, read_input
from runner.errors import SupervisorUnavailableError, UsageError
from runner.fence import compose, hidden_in, texts_of
from runner.fence.names import petname_fault
from runner.model import OWNER, JsonObject, Sender, SenderKind
from runner.render import Screen, Styled, show_exact, what_was_hidden
from runner.render.values import text_at

#: Stands for a contact's fingerprint where no supervisor can be asked for it.
_STAND_IN = "0000-0000-0000-0000"
_NONCE_BYTES = 8


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    app.command(rich_help_panel=CAPTURES, epilog="Example: runner fence capture.json --from maria > prompt.txt")(fence)


def fence(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A capture as JSON; - is stdin.")],
    *,
    sender: Annotated[str, typer.Option("--from", metavar="owner|CONTACT", help="Whose capture it would be.")] = "owner",
    json: JsonFlag = False,
) -> None:
    """Print the prompt a capture becomes: your own words, the fenced block, the reminder.

    Into a file or a pipe it is the exact text; on a terminal what could act there is shown by its code.
    """
    capture = captures.parse(read_input(file, option="the capture", limit=BOUNDS.wire_bytes))
    screen = Screen(json=json)
    prompt = compose(capture, _sender(screen, sender), draw=lambda: secrets.token_hex(_NONCE_BYTES))
    hidden: JsonObject = {
        "hidden": [
            {"field": one.field, "counts": dict(one.counts), "spelled": one.spelled} for one in hidden_in(texts_of(capture))
        ]
    }
    if json:
        screen.document(
            {
                "prompt": prompt.text,
                "system_rule": prompt.system_rule,
                "images": [{"name": image.name, "media_type": image.media_type} for image in prompt.images],
                "counts": dict(prompt.counts),
                **hidden,
            }
        )
        return
    for hid in what_was_hidden(hidden):
        screen.progress(Styled("note: ", "dim"), Styled(hid, "bold yellow"))
    show_exact(screen, prompt.text)


def _sender(screen: Screen, name: str) -> Sender:
    """Who is named; a contact as the supervisor knows it, else with a fingerprint that stands for its own."""
    if name == "owner":
        return OWNER
    fault = petname_fault(name)
    if fault is not None:
        raise UsageError(f"cannot fence for {name!r}: {fault}", resolution="--from owner, or a contact's petname")
    try:
        with connect() as client:
            found = client.record("contacts", name)
    except SupervisorUnavailableError:
        screen.progress(Styled(f"note: no supervisor to ask about {name}; {_STAND_IN} stands for its fingerprint", "dim"))
        return Sender(kind=SenderKind.CONTACT, petname=name, fingerprint=_STAND_IN)
    kind = SenderKind.AGENT if text_at(found, "kind") == "agent" else SenderKind.CONTACT
    return Sender(kind=kind, petname=name, fingerprint=text_at(found, "fingerprint"))
