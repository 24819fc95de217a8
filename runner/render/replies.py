"""Replies as their reviewer is shown them: to whom, the whole text, and where everything in it leads (R21, O1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runner.model import JsonObject
from runner.render.block import show_block
from runner.render.screen import CELL, Page, Part, Screen, Styled
from runner.render.values import age, objects_at, signed, text_at, texts_at

_STATES = {"held": "bold yellow", "released": "green", "denied": "red", "expired": "red"}


def show_replies(screen: Screen, replies: Sequence[JsonObject], *, now: datetime) -> None:
    """A list of replies, then how to go on."""
    if not replies:
        screen.say("no reply waits for you")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(row, "id"), "cyan"),
            text_at(row, "agent"),
            text_at(row, "sender"),
            Styled(text_at(row, "state"), _STATES.get(text_at(row, "state"), "bold")),
            age(row.get("created"), now=now),
            age(row.get("expires"), now=now) if row.get("state") == "held" else "",
            Styled("; ".join(texts_at(row, "warnings")) or text_at(row, "decision_reason"), "", limit=CELL),
        ]
        for row in replies
    ]
    screen.table(["reply", "agent", "to", "state", "ready", "expires", "about"], rows)
    if any(row.get("state") == "held" for row in replies):
        screen.say(Styled("runner reply approve ID", "bold"), " shows one whole and asks")


def show_reply(page: Page, reply: JsonObject, *, now: datetime) -> None:
    """One reply, whole. Nothing in it is a link here, and nothing in it is fetched."""
    state = text_at(reply, "state")
    page.say(
        Styled("reply ", "bold"), Styled(text_at(reply, "id"), "bold cyan"), "  ", Styled(state, _STATES.get(state, "bold"))
    )
    _field(page, "does", Styled(text_at(reply, "does"), "bold"))
    _field(page, "to", Styled(text_at(reply, "sender"), "bold"))
    _field(page, "agent", f"{text_at(reply, 'agent')}, run {text_at(reply, 'run')}")
    _field(page, "why", text_at(reply, "reason"))
    if state == "held":
        _field(page, "expires", age(reply.get("expires"), now=now))
    if under := signed(reply):
        _field(page, "signed", under)
    if said := text_at(reply, "decision_reason"):
        _field(page, "decided", said)
    for warning in texts_at(reply, "warnings"):
        page.say(Styled("warning: ", "bold red"), warning)
    _links(page, reply)
    page.say(Styled("the whole text", "bold"))
    page.lines(show_block(text_at(reply, "text"), width=page.width))
    page.say("  ", Styled("digest", "dim", 9), text_at(reply, "digest"))


def _links(page: Page, reply: JsonObject) -> None:
    reveals = reply.get("reveals")
    found = objects_at(reveals, "links") if isinstance(reveals, dict) else []
    for link in found:
        unasked = ", fetched by whatever shows it" if link.get("fetched_when_shown") else ""
        page.say(
            Styled("leads to ", "bold yellow"), Styled(text_at(link, "host"), "bold"), f" ({text_at(link, 'form')}{unasked})"
        )
        page.lines(show_block(text_at(link, "target"), width=page.width))
    if isinstance(reveals, dict) and reveals.get("more"):
        page.say(Styled("leads to more places than are named here: read the text itself", "bold red"))


def _field(page: Page, name: str, value: Part) -> None:
    page.say("  ", Styled(name, "dim", 9), value)
