"""send: hand a capture to an agent."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated

import typer

from runner.api.client import as_object
from runner.captures import BOUNDS, sniff
from runner.cli.completion import agents
from runner.cli.follow import ended_well, follow_run
from runner.cli.shared import CAPTURES, JsonFlag, connect, read_input
from runner.digest import MalformedJsonError, parse_strict
from runner.errors import UsageError
from runner.model import Json, JsonObject
from runner.render import Screen, Styled, show_run
from runner.render.threads import thread_words


def register(app: typer.Typer) -> None:
    """Add this file's command."""
    example = "Example: runner send scribe --note 'Summarise notes.md into summary.md' --wait"
    app.command(rich_help_panel=CAPTURES, epilog=example)(send)


def send(  # noqa: PLR0913 - each is a flag of the contract
    agent: Annotated[str | None, typer.Argument(help="Whom it is for.", autocompletion=agents)] = None,
    *,
    note: Annotated[str | None, typer.Option(help="What you ask for: your own words.")] = None,
    intent: Annotated[str | None, typer.Option(help="What it is for, in a few words.")] = None,
    url: Annotated[str | None, typer.Option(help="Where the text comes from.")] = None,
    title: Annotated[str | None, typer.Option(help="Its title.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="A label; may be repeated.")] = None,
    text_file: Annotated[str | None, typer.Option(metavar="FILE|-", help="Page text to send along; - is stdin.")] = None,
    image: Annotated[list[str] | None, typer.Option(metavar="FILE", help="A picture; may be repeated.")] = None,
    capture: Annotated[str | None, typer.Option(metavar="FILE|-", help="A capture as JSON; flags stand above it.")] = None,
    to: Annotated[str | None, typer.Option(metavar="URL", help="Send to somebody else's supervisor.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="With --to: your key.", show_default=False)] = None,
    ca: Annotated[Path | None, typer.Option(metavar="FILE", help="With --to: a certificate to trust, PEM.")] = None,
    sender: Annotated[str | None, typer.Option("--as", metavar="CONTACT", help="As if this contact had sent it.")] = None,
    thread: Annotated[str | None, typer.Option(metavar="NAME", help="Begin this conversation, or continue it.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Its run is strict, whatever the profile says.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Show progress, then the reply.")] = False,
    json: JsonFlag = False,
    json_lines: Annotated[bool, typer.Option("--json-lines", help="With --wait: progress as JSON lines on stdout.")] = False,
) -> None:
    """Send a capture to an agent; a run starts for it."""
    if capture == "-" and text_file == "-":
        raise UsageError("cannot send: --capture and --text-file both want stdin", resolution="put one of them into a file")
    body = _from_file(capture) if capture else {}
    if agent and body.get("agent") not in (None, agent):
        raise UsageError(f"cannot send to {agent}: the capture names another agent", resolution="leave one of them out")
    flags: JsonObject = {"agent": agent, "note": note, "intent": intent, "url": url, "title": title}
    body |= {key: value for key, value in flags.items() if value is not None}
    if not body.get("agent"):
        raise UsageError("cannot send: no agent is named", resolution="runner profile list shows them")
    body |= _parts(label, text_file, image) | ({"strict": True} if strict else {})
    screen = Screen(json=json or json_lines)
    if to is None:
        _deliver(body, screen, route=_route(sender, thread), wait=wait or json_lines, lines=json_lines)
        return
    if sender or thread is not None or wait or json_lines:
        raise UsageError(
            "cannot send: --to goes with none of --as, --thread, --wait", resolution="runner get waits for the answer"
        )
    from runner.cli.get import deliver  # noqa: PLC0415 - its libraries of keys and signatures are for this alone

    deliver(body, screen, to=to, key=key, ca=ca)


def _parts(label: list[str] | None, text_file: str | None, image: list[str] | None) -> JsonObject:
    """What of a capture comes from files and lists."""
    found: JsonObject = {}
    if label:
        found["labels"] = [*label]
    if text_file:
        found["text"] = _text(text_file)
    if image:
        found["images"] = [_image(name) for name in image]
    return found


def _route(sender: str | None, thread: str | None) -> tuple[str, ...]:
    """Where a capture is handed in."""
    if sender is not None and thread is not None:
        raise UsageError(
            "cannot send: --as goes with no --thread", resolution="only your own captures continue a conversation of yours"
        )
    if thread is not None:
        return ("threads", thread, "captures")
    return ("captures",) if sender is None else ("contacts", sender, "captures")


def _deliver(body: JsonObject, screen: Screen, *, route: tuple[str, ...], wait: bool, lines: bool) -> None:
    with connect() as client:
        if wait and not lines:
            screen.progress(Styled("  0.0 s", "dim"), f"  sending to {body['agent']}")
        sent = as_object(client.post(*route, body=body))
        if not wait or sent.get("run") is None:
            _say_sent(screen, sent)
            return
        if not lines:
            screen.progress(Styled("  0.0 s", "dim"), f"  sent {sent.get('capture')}, run {sent.get('run')}")
            if words := thread_words(sent):
                screen.progress(Styled("", "dim", 7), f"  thread {words}")
        run = follow_run(screen, client, str(sent.get("run")), lines=lines)
    if screen.json:
        screen.document(
            {**sent, "state": run.get("state"), "reply": run.get("reply"), "reason": run.get("reason")}, compact=lines
        )
    else:
        show_run(screen, run)
    if not ended_well(run):
        raise typer.Exit(1)


def _say_sent(screen: Screen, sent: JsonObject) -> None:
    if screen.json:
        screen.document(sent)
    elif sent.get("run") is None:
        screen.say("sent ", str(sent.get("capture")), f"; it is {sent.get('state')}; runner captures says what it waits for")
    else:
        screen.say("sent ", str(sent.get("capture")), "; run ", Styled(str(sent.get("run")), "bold cyan"))
    if not screen.json and (words := thread_words(sent)):
        screen.say("  ", Styled("thread", "dim", 9), words)


def _from_file(name: str) -> JsonObject:
    data = read_input(name, option="--capture", limit=BOUNDS.wire_bytes)
    try:
        value: Json = parse_strict(data.decode("utf-8"))
    except (UnicodeDecodeError, MalformedJsonError) as error:
        raise UsageError(f"cannot read --capture {name}: {error}", resolution="a capture is one JSON object") from None
    if not isinstance(value, dict):
        raise UsageError(f"cannot read --capture {name}: it is no JSON object", resolution="a capture is one JSON object")
    return value


def _text(name: str) -> str:
    """The file's text; what is not UTF-8 shows as U+FFFD, since a page's bytes are the sender's business."""
    return read_input(name, option="--text-file", limit=BOUNDS.wire_bytes // 2).decode("utf-8", errors="replace")


def _image(name: str) -> JsonObject:
    data = read_input(name, option="--image", limit=BOUNDS.image_bytes)
    facts = sniff(data)
    if facts is None:
        raise UsageError(f"cannot send --image {name}: it is no PNG, JPEG, GIF or WebP picture", resolution="convert it first")
    return {"name": Path(name).name, "media_type": facts.media_type, "data": base64.b64encode(data).decode()}
