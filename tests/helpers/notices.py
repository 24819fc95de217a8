"""Channels that are real HTTP servers with a will of their own, and a notifier whose clock is moved."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from runner.notify.channels import apprise_channels
from runner.notify.sending import Channel
from runner.notify.timing import Timing
from runner.notify.webhook import Webhook
from runner.notify.worker import Notifier, Pace
from runner.store import Store
from tests.helpers.stored import NOW

SECRET = "correct-horse-battery-staple"
_keys = itertools.count(1)


class Got(NamedTuple):
    """A request as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """Its body."""
        return dict(json.loads(self.body))

    @property
    def key(self) -> str:
        """The notice's key, wherever the channel carries it."""
        return self.headers.get("idempotency-key") or self.json["message"].rsplit("notice: ", 1)[1].strip()


@dataclass
class Receiver:
    """An HTTP server: `answers` are given one after the other, the last for ever; 0 hangs until it is let go."""

    answers: list[int] = field(default_factory=lambda: [200])
    got: list[Got] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def next_answer(self) -> int:
        """What the next request is told."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiving(*answers: int) -> Iterator[Receiver]:
    """A server on this machine."""
    receiver = Receiver(answers=list(answers) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.got.append(Got({name.lower(): value for name, value in self.headers.items()}, body))
            status = receiver.next_answer()
            if status == 0:
                receiver.let_go.wait(30)
                return
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Watcher:
    """A notifier over `store` whose clock stands still unless it is moved."""

    store: Store
    channels: Sequence[Channel]
    timing: Timing = field(default_factory=lambda: Timing(settle=20))
    pace: Pace = field(default_factory=lambda: Pace(deadline=5, tries=4))
    now: float = NOW

    def __post_init__(self) -> None:
        """Make the notifier."""
        self.notifier = Notifier(
            self.store,
            self.channels,
            timing=self.timing,
            clock=lambda: self.now,
            new_key=lambda: f"n_{next(_keys):016d}",
            pace=self.pace,
        )

    def tick(self, seconds: float = 0) -> None:
        """Let time pass, look once, and wait until every channel is done."""
        self.now += seconds

        async def once() -> None:
            await self.notifier.tick()
            await self.notifier.delivered()

        asyncio.run(once())

    def summary(self) -> dict[str, Any]:
        """How the channels do."""
        return dict(asyncio.run(self.notifier.summary()))


def apprise_to(receiver: Receiver) -> tuple[Channel, ...]:
    """Apprise's JSON channel to a server."""
    return apprise_channels([f"json://127.0.0.1:{receiver.port}/"])


def webhook_to(receiver: Receiver, clock: Callable[[], float] = lambda: NOW) -> Webhook:
    """A signed webhook to a server."""
    return Webhook(f"http://127.0.0.1:{receiver.port}/hook", secret=SECRET, clock=clock)
