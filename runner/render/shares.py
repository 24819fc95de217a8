"""Shares as people are shown them: what would leave, what left, what is there to be fetched (R26, R28)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runner.model import Json, JsonObject
from runner.render.block import show_block
from runner.render.screen import CELL, Page, Part, Screen, Styled
from runner.render.values import age, duration, objects_at, size, text_at, texts_at

_STATES = {"offered": "bold yellow", "fetched": "green", "withdrawn": "red", "expired": "red"}


def show_draft(page: Page, draft: JsonObject) -> None:
    """Everything that would leave, to whom, for how long, and what it would give away."""
    files = objects_at(draft, "files")
    page.say(Styled("would leave", "bold"), f": {_counted(len(files))}, {_size(draft.get('bytes'))}")
    _field(page, "to", Styled(text_at(draft, "sender"), "bold"))
    seconds = draft.get("seconds")
    _field(page, "for", duration(seconds) if isinstance(seconds, int | float) else "")
    for file in files:
        _file(page, file)
    _note(page, draft)
    for link in objects_at(draft, "links"):
        _leads(page, link)
    for warning in texts_at(draft, "warnings"):
        page.say(Styled("warning: ", "bold red"), warning)
    _field(page, "digest", text_at(draft, "digest"))


def show_shares(screen: Screen, shares: Sequence[JsonObject], *, now: datetime) -> None:
    """A list of shares."""
    if not shares:
        screen.say("nothing is shared")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(row, "id"), "cyan"),
            text_at(row, "sender"),
            _state(row, now=now),
            Styled(", ".join(text_at(file, "name") for file in objects_at(row, "files")), "", limit=CELL),
            _size(row.get("bytes")),
        ]
        for row in shares
    ]
    screen.table(["share", "to", "state", "files", "size"], rows)


def _state(row: JsonObject, *, now: datetime) -> Styled:
    """A share's state, since when it has it, and when its time is up."""
    state, ended = text_at(row, "state"), row.get("ended")
    since = ended or row.get("fetched") or row.get("created")
    until = "" if ended is not None else f", ends {age(row.get('expires'), now=now)}"
    return Styled(f"{state} {age(since, now=now)}{until}", _STATES.get(state, "bold"))


def show_share(page: Page, share: JsonObject, *, now: datetime) -> None:
    """One share, whole."""
    state = text_at(share, "state")
    page.say(
        Styled("share ", "bold"), Styled(text_at(share, "id"), "bold cyan"), "  ", Styled(state, _STATES.get(state, "bold"))
    )
    _field(page, "to", Styled(text_at(share, "sender"), "bold"))
    _field(page, "shared", age(share.get("created"), now=now))
    if share.get("ended") is None:
        _field(page, "expires", age(share.get("expires"), now=now))
    for file in objects_at(share, "files"):
        _file(page, file)
        if file.get("fetched") is not None:
            times = "once" if file.get("fetches") == 1 else f"{text_at(file, 'fetches')} times, first"
            _field(page, "", f"fetched {times} {age(file.get('fetched'), now=now)}")
    _note(page, share)
    for warning in texts_at(share, "warnings"):
        page.say(Styled("warning: ", "bold red"), warning)
    _field(page, "digest", text_at(share, "digest"))


def show_offers(screen: Screen, offers: Sequence[JsonObject], *, now: datetime) -> None:
    """What somebody else shared with this key: their names and their note, as they came."""
    if not offers:
        screen.say("nothing is there for this key")
    for offer in offers:
        screen.say(Styled("share ", "bold"), Styled(text_at(offer, "share"), "bold cyan"))
        _field(screen, "expires", age(offer.get("expires"), now=now))
        for file in objects_at(offer, "files"):
            _file(screen, file)
        _note(screen, offer)


def _file(page: Page, file: JsonObject) -> None:
    kind = text_at(file, "kind")
    _field(page, "file", Styled(text_at(file, "name"), "bold cyan"), f"  {_size(file.get('size'))}{', ' if kind else ''}", kind)
    if file.get("sealed"):
        _field(page, "", Styled("what is in it cannot be read here: look at it yourself", "yellow"))
    _field(page, "", Styled(text_at(file, "digest"), "dim"))
    for link in objects_at(file, "links"):
        _leads(page, link)
    more = file.get("more_links")
    if isinstance(more, int) and more:
        _field(page, "", f"and to {more} more places")


def _leads(page: Page, link: JsonObject) -> None:
    unasked = ", fetched by whatever shows it" if link.get("fetched_when_shown") else ""
    times = link.get("times")
    often = f", {times} times" if isinstance(times, int) and times > 1 else ""
    where = Styled(text_at(link, "host"), "bold", limit=CELL * 4)
    page.say(Styled("  leads to ", "bold yellow"), where, f" ({text_at(link, 'form')}{unasked}{often})")


def _note(page: Page, record: JsonObject) -> None:
    if note := text_at(record, "note"):
        page.say(Styled("the note", "bold"))
        page.lines(show_block(note, width=page.width))


def _field(page: Page, name: str, *value: Part) -> None:
    page.say("  ", Styled(name, "dim", 9), *value)


def _counted(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


def _size(value: Json) -> str:
    return size(value) if isinstance(value, int) and not isinstance(value, bool) else ""
