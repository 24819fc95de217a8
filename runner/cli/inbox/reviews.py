"""Replies on the list: what agents answered to somebody else, until a person has let it go out or not (R19, R21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.api.client import Client, as_object
from runner.cli.inbox.entries import Act, Ask
from runner.model import JsonObject
from runner.render import Page
from runner.render.replies import show_reply
from runner.render.values import text_at

_HELD = "held"


def _approve(client: Client, record: JsonObject, text: str) -> JsonObject:
    del text
    body: JsonObject = {"digest": text_at(record, "digest"), "reason": None}
    return as_object(client.post("replies", text_at(record, "id"), "approve", body=body))


def _deny(client: Client, record: JsonObject, text: str) -> JsonObject:
    return as_object(client.post("replies", text_at(record, "id"), "deny", body={"reason": text or None}))


_ACTS = (
    Act(key="a", word="send", ask=Ask.YES, do=_approve, said="sent", whole=True, ends=True),
    Act(key="d", word="deny", ask=Ask.LINE, do=_deny, said="denied", ends=True, question="deny; why?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """Replies that wait for review."""

    prefix: str = "p_"
    news: str = "reply.hold"

    def list(self, client: Client) -> Sequence[JsonObject]:
        """Those that wait, oldest first."""
        found = client.get("replies")
        return [line for line in found if isinstance(line, dict)] if isinstance(found, list) else []

    def look(self, client: Client, id: str) -> JsonObject:
        """One of them, whole."""
        return client.record("replies", id)

    def waits(self, line: JsonObject) -> bool:
        """Whether nobody has decided about it."""
        return text_at(line, "state") == _HELD

    def draw(self, page: Page, record: JsonObject, *, now: datetime) -> None:
        """The text as it would be sent, and where it leads."""
        show_reply(page, record, now=now)

    def acts(self, record: JsonObject) -> Sequence[Act]:
        """What can be done while it waits."""
        return _ACTS if self.waits(record) else ()
