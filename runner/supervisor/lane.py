"""Which of the dispatcher's queues an attempt waits in: the owner's, or its contact's share of the other one."""

from __future__ import annotations

from typing import Protocol

from runner.model import Attempt, SenderKind
from runner.store import Connection, runs


class Laned(Protocol):
    """The dispatcher's door."""

    def enqueue(self, conn: Connection, attempt: Attempt, *, agent: str, lane: str = "") -> None:
        """Queue it, once."""


class Lanes:
    """Queues attempts by whose run it is. Each contact has two lanes, so two of its runs at once and not more."""

    def __init__(self, dispatch: Laned) -> None:
        self._dispatch = dispatch

    def enqueue(self, conn: Connection, attempt: Attempt, *, agent: str) -> None:
        """Queue an attempt inside the caller's transaction."""
        sender = runs.get(conn, attempt.run).sender
        lane = ""
        if sender.kind is not SenderKind.OWNER:
            lane = f"{sender.fingerprint} {ord(attempt.run[-1]) % 2}"
        self._dispatch.enqueue(conn, attempt, agent=agent, lane=lane)
