"""What stands on the list, and what can be done with it: one `Source` per kind, and the rest of the inbox knows no kind.

Owns the requests to the supervisor. A decision is sent with the id and digest that were on the screen, never with others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Protocol

from runner.api.client import Client, as_object
from runner.errors import UsageError
from runner.lifecycle import ApprovalState
from runner.model import JsonObject
from runner.profiles import units
from runner.render import Page, show_card
from runner.render.values import objects_at, text_at


class Ask(Enum):
    """What a person is asked before something is done."""

    YES = "yes"  #: as much as the entry's friction says
    CONFIRM = "confirm"  #: a second key
    LINE = "line"  #: a line of text, which the act says what it is
    EDITOR = "editor"  #: the exact input in an editor


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something a person can do with an entry.

    `plan`: what is shown whole before it is confirmed. `whole`: the card must have been read to its end first.
    """

    key: str
    word: str
    ask: Ask
    do: Callable[[Client, JsonObject, str], JsonObject]
    said: str  #: what it is called once it is done
    question: str = ""  #: what is asked for, where that is a line
    whole: bool = False
    ends: bool = False  #: the entry waits no more; the cursor goes on to the next
    plan: Callable[[Client, JsonObject], JsonObject] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing on the list."""

    source: Source
    id: str
    line: JsonObject

    @property
    def waits(self) -> bool:
        """Whether it still needs a person."""
        return self.source.waits(self.line)

    @property
    def text(self) -> str:
        """What a filter looks in."""
        return " ".join(text_at(self.line, key) for key in ("id", "run", "agent", "tool", "does", "sender", "state"))

    def renewed(self, record: JsonObject) -> Entry:
        """The same entry as it is now."""
        return replace(self, line=record)


class Source(Protocol):
    """One kind of thing that needs a person."""

    @property
    def prefix(self) -> str:
        """How its ids begin."""
        ...

    @property
    def news(self) -> str:
        """The event with which a new one appears in the log."""
        ...

    def list(self, client: Client) -> Sequence[JsonObject]:
        """All that need a person now, oldest first."""
        ...

    def look(self, client: Client, id: str) -> JsonObject:
        """One of them, whole."""
        ...

    def waits(self, line: JsonObject) -> bool:
        """Whether it needs a person."""
        ...

    def draw(self, page: Page, record: JsonObject, *, now: datetime) -> None:
        """One of them, whole, on its card."""
        ...

    def acts(self, record: JsonObject) -> Sequence[Act]:
        """What can be done with it as it is."""
        ...


#: Where a record keeps the input that a person gave it; the supervisor knows it only once it is approved.
EDITED = "edited_input"
_PENDING, _UNKNOWN, _DONE = ApprovalState.PENDING.value, ApprovalState.UNKNOWN.value, ApprovalState.DONE.value


def _approve(client: Client, record: JsonObject, text: str) -> JsonObject:
    del text
    body: JsonObject = {"digest": text_at(record, "digest")}
    if EDITED in record:
        body["input"] = record[EDITED]
    return _post(client, record, "approve", body=body)


def _deny(client: Client, record: JsonObject, text: str) -> JsonObject:
    return _post(client, record, "deny", body={"reason": text or None, "stop": False})


def _extend(client: Client, record: JsonObject, text: str) -> JsonObject:
    try:
        seconds = int(units.seconds(text.strip()))
    except ValueError as error:
        raise UsageError(f"cannot use {text!r}: {error}", resolution="30m, 1h or 2d") from None
    return _post(client, record, "extend", body={"seconds": seconds})


def _undo(client: Client, record: JsonObject, text: str) -> JsonObject:
    del text
    return _post(client, record, "undo", body={})


def _plan_undo(client: Client, record: JsonObject) -> JsonObject:
    return as_object(client.get("approvals", text_at(record, "id"), "undo"))


def _happened(client: Client, record: JsonObject, text: str) -> JsonObject:
    return _post(client, record, "settle", body={"answer": "happened", "reason": text or None})


def _not_happened(client: Client, record: JsonObject, text: str) -> JsonObject:
    return _post(client, record, "settle", body={"answer": "not-happened", "reason": text or None})


def plan_edit(client: Client, record: JsonObject, text: str) -> JsonObject:
    """The call as this input would make it; nothing is stored until it is approved with the digest of just that."""
    return _post(client, record, "edit", body={"input": text}) | {EDITED: text}


def _post(client: Client, record: JsonObject, verb: str, *, body: JsonObject) -> JsonObject:
    return as_object(client.post("approvals", text_at(record, "id"), verb, body=body))


APPROVE = Act(key="a", word="approve", ask=Ask.YES, do=_approve, said="approved", whole=True, ends=True)
DENY = Act(key="d", word="deny", ask=Ask.LINE, do=_deny, said="denied", ends=True, question="deny; why?")
EDIT = Act(key="e", word="edit", ask=Ask.EDITOR, do=plan_edit, said="edited")
EXTEND = Act(key="x", word="extend", ask=Ask.LINE, do=_extend, said="extended", question="how much longer? (30m, 1h, 2d)")
UNDO = Act(key="u", word="undo", ask=Ask.CONFIRM, do=_undo, said="taken back", whole=True, plan=_plan_undo)
HAPPENED = Act(key="h", word="it happened", ask=Ask.CONFIRM, do=_happened, said="settled", whole=True, ends=True)
NOT_HAPPENED = Act(key="n", word="it did not", ask=Ask.CONFIRM, do=_not_happened, said="settled", whole=True, ends=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """Calls that wait, and effects nobody knows about."""

    prefix: str = "a_"
    news: str = "approval.request"
    by_state: Mapping[str, tuple[Act, ...]] = field(
        default_factory=lambda: MappingProxyType(
            {_PENDING: (APPROVE, DENY, EDIT, EXTEND), _UNKNOWN: (HAPPENED, NOT_HAPPENED), _DONE: (UNDO,)}
        )
    )

    def list(self, client: Client) -> Sequence[JsonObject]:
        """Pending and unknown ones."""
        return objects_at(as_object(client.get("approvals", limit="100000")), "approvals")

    def look(self, client: Client, id: str) -> JsonObject:
        """As `show --json` has it."""
        return client.record("approvals", id)

    def waits(self, line: JsonObject) -> bool:
        """Whether nobody has decided or settled it."""
        return text_at(line, "state") in {_PENDING, _UNKNOWN}

    def draw(self, page: Page, record: JsonObject, *, now: datetime) -> None:
        """The approval's card."""
        show_card(page, record, now=now)

    def acts(self, record: JsonObject) -> Sequence[Act]:
        """What can be done in the state it is in."""
        return self.by_state.get(text_at(record, "state"), ())
