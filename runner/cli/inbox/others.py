"""What stands on the list besides approvals: captures that nobody let in or started, runs that wait for a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.api.client import Client, as_object
from runner.cli.inbox.entries import Act, Approvals, Ask, Source
from runner.cli.inbox.reviews import Replies
from runner.errors import UsageError
from runner.model import JsonObject
from runner.render import Page, Styled, show_fields, show_run
from runner.render.values import age, objects_at, text_at

_STUB, _STORED, _BUDGET = "stub", "stored", "budget"
_SAYS = {
    _STUB: "Let in a capture of which nothing is shown yet",
    _STORED: "Start the run of a capture that waits",
}


def _accept(client: Client, record: JsonObject, text: str) -> JsonObject:
    del text
    return as_object(client.post("captures", text_at(record, "id"), "accept", body={}))


def _start(client: Client, record: JsonObject, text: str) -> JsonObject:
    del text
    return as_object(client.post("captures", text_at(record, "id"), "start", body={}))


def _dismiss(client: Client, record: JsonObject, text: str) -> JsonObject:
    del text
    return as_object(client.post("captures", text_at(record, "id"), "dismiss", body={}))


def _raise(client: Client, record: JsonObject, text: str) -> JsonObject:
    try:
        usd = float(text.strip())
    except ValueError:
        raise UsageError(f"cannot raise the budget by {text!r}: that is no number", resolution="0.5 or 2") from None
    return as_object(client.post("runs", text_at(record, "id"), "budget", body={"usd": usd, "tokens": 0}))


def _stop(client: Client, record: JsonObject, text: str) -> JsonObject:
    return as_object(client.post("runs", text_at(record, "id"), "stop", body={"reason": text or None}))


_DISMISS = Act(key="d", word="dismiss", ask=Ask.CONFIRM, do=_dismiss, said="dismissed", ends=True)
_CAPTURE_ACTS = {
    _STUB: (Act(key="a", word="let in", ask=Ask.CONFIRM, do=_accept, said="let in", whole=True, ends=True), _DISMISS),
    _STORED: (Act(key="s", word="start", ask=Ask.CONFIRM, do=_start, said="started", whole=True, ends=True), _DISMISS),
}
_BUDGET_ACTS = (
    Act(
        key="m",
        word="more budget",
        ask=Ask.LINE,
        do=_raise,
        said="raised",
        ends=True,
        whole=True,
        question="raise by how many US dollars?",
    ),
    Act(key="d", word="stop", ask=Ask.LINE, do=_stop, said="stopped", ends=True, question="stop the run; why?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captures:
    """Captures that no agent sees before a person lets them in or starts them."""

    prefix: str = "c_"
    news: str = "capture.receive"

    def list(self, client: Client) -> Sequence[JsonObject]:
        """Those that wait, oldest first."""
        found = client.get("captures")
        return [_said(line) for line in reversed(found if isinstance(found, list) else []) if isinstance(line, dict)]

    def look(self, client: Client, id: str) -> JsonObject:
        """One of them, with the content that may be seen."""
        return _said(client.record("find", id))

    def waits(self, line: JsonObject) -> bool:
        """Whether nobody has dealt with it."""
        return text_at(line, "state") in _CAPTURE_ACTS

    def draw(self, page: Page, record: JsonObject, *, now: datetime) -> None:
        """Who sent it, to whom, and what it says; nothing of a sender nobody verified."""
        page.say(Styled("capture ", "bold"), Styled(text_at(record, "id"), "bold cyan"), "  ", text_at(record, "state"))
        page.say("  ", Styled("does", "dim", 9), Styled(text_at(record, "does"), "bold"))
        page.say("  ", Styled("agent", "dim", 9), text_at(record, "agent"))
        page.say("  ", Styled("from", "dim", 9), text_at(record, "sender"), ", ", age(record.get("created"), now=now))
        content = record.get("content")
        page.lines(show_fields(content if isinstance(content, dict) else {}, width=page.width))

    def acts(self, record: JsonObject) -> Sequence[Act]:
        """What can be done in the state it is in."""
        return _CAPTURE_ACTS.get(text_at(record, "state"), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Runs whose budget is spent."""

    prefix: str = "r_"
    news: str = "budget.hold"

    def list(self, client: Client) -> Sequence[JsonObject]:
        """Those that wait to be raised or stopped."""
        return [_held(hold, hold) for hold in objects_at(as_object(client.get("budgets")), "holds")]

    def look(self, client: Client, id: str) -> JsonObject:
        """One of them, as its run is now."""
        run = client.record("runs", id)
        held = [hold for hold in objects_at(as_object(client.get("budgets")), "holds") if text_at(hold, "run") == id]
        return _held(held[0], run) if held else run

    def waits(self, line: JsonObject) -> bool:
        """Whether it still waits for its budget."""
        return text_at(line, "state") == _BUDGET

    def draw(self, page: Page, record: JsonObject, *, now: datetime) -> None:
        """What it waits for, and the run so far."""
        del now
        page.say(Styled(text_at(record, "does"), "bold yellow"))
        show_run(page, record)

    def acts(self, record: JsonObject) -> Sequence[Act]:
        """Raise its budget, or stop it."""
        return _BUDGET_ACTS if self.waits(record) else ()


def _said(line: JsonObject) -> JsonObject:
    return line | {"does": _SAYS.get(text_at(line, "state"), "Nothing: it is dealt with")}


def _held(hold: JsonObject, run: JsonObject) -> JsonObject:
    return run | {"id": text_at(hold, "run"), "state": _BUDGET, "does": f"Raise the budget or stop: {text_at(hold, 'says')}"}


#: Every kind of thing on the list, in the order of the first listing. Another kind is added here and nowhere else.
SOURCES: tuple[Source, ...] = (Approvals(), Replies(), Captures(), Budgets())
