"""The network's door on a real socket over a real database, without engine or CLI: queued attempts are only remembered."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from runner.api.ingress import Ingress
from runner.api.ingress_gate import Gate
from runner.api.ingress_server import IngressServer
from runner.captures import ed25519, keys, signing
from runner.captures.ed25519 import SecretKey
from runner.captures.tally import Tally
from runner.lifecycle import RUN_ENDS, CaptureState, RunState
from runner.model import Attempt, Capture, Profile, Sender
from runner.profiles import to_json
from runner.setting_tables import Ingress as Table
from runner.store import CaptureRow, Connection, RunRow, Store, profiles
from runner.supervisor.changes import Changes
from runner.supervisor.contacts import Contacts
from runner.supervisor.endings import Endings
from runner.supervisor.handing import Handing
from runner.supervisor.ids import Ids
from runner.supervisor.intake import Intake
from runner.supervisor.lanes import Captures
from runner.supervisor.live import Live
from runner.supervisor.reception import Reception, Released, ReplyGate
from runner.supervisor.shares import Shares
from tests.helpers.builders import a_profile
from tests.helpers.stored import ANNA, NOW, opened


def free_port() -> int:
    """A port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class AsTheyCame:
    """Pictures that nobody looks at."""

    async def clean(self, capture: Capture, *, sender: Sender) -> Capture:
        """The same."""
        del sender
        return capture


class NothingReleased:
    """A gate that lets no reply out: a reply waits for ever, and a run that ends without one is closed."""

    def released(self, conn: Connection, capture: CaptureRow, run: RunRow | None) -> Released:
        """What is released by now."""
        del conn
        over = run is not None and run.state in RUN_ENDS - {RunState.REPLIED}
        return Released("closed" if over or capture.state is CaptureState.CLOSED else "received")


@dataclass
class Door:
    """Everything behind the door. The clock stands still unless it is moved."""

    store: Store
    now: float = NOW
    per_hour: int = 20
    share_seconds: float = 7 * 86400.0
    gate: ReplyGate = field(default_factory=NothingReleased)
    queued: list[Attempt] = field(default_factory=list)
    origin: str = ""
    rests: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Wire the rooms."""
        self.changes, self.live = Changes(), Live()
        self.intake = Intake(clock=lambda: self.now, ids=Ids(os.urandom), enqueue=self.enqueue)
        self.reception = Reception(
            store=self.store,
            intake=self.intake,
            changes=self.changes,
            clock=lambda: self.now,
            per_hour=self.per_hour,
            gate=self.gate,
            pictures=AsTheyCame(),
        )
        self.endings = Endings(clock=lambda: self.now, enqueue=self.enqueue)
        self.captures = Captures(store=self.store, intake=self.intake, changes=self.changes)
        self.contacts = Contacts(
            store=self.store,
            intake=self.intake,
            endings=self.endings,
            live=self.live,
            changes=self.changes,
            clock=lambda: self.now,
            changed=self.reception.forget,
            pictures=AsTheyCame(),
        )
        self.shares = Shares(
            store=self.store, changes=self.changes, clock=lambda: self.now, ids=Ids(os.urandom), seconds=self.share_seconds
        )
        self.handing = Handing(store=self.store, clock=lambda: self.now)
        self.tally = Tally(lambda: self.now)

    async def rest(self, seconds: float) -> None:
        """Remember how long a refusal would have waited."""
        self.rests.append(seconds)

    def enqueue(self, conn: Connection, attempt: Attempt, *, agent: str) -> None:
        """Remember it."""
        self.queued.append(attempt)

    def publish(self, **changes: Any) -> Profile:
        """Publish a profile."""
        profile = a_profile(**{"name": "tester", "contacts": ("maria",)} | changes)
        with self.store.begin() as conn:
            profiles.put(conn, json.dumps(to_json(profile)), digest=profile.digest, name=profile.name, now=self.now)
        return profile

    def meet(self, petname: str = "maria", **more: Any) -> SecretKey:
        """Add a contact; its key."""
        key = ed25519.make()
        given: dict[str, Any] = {"kind": "person", "verified": True, "who": ANNA} | more
        asyncio.run(self.contacts.add(petname, key.public, **given))
        return key

    def headers(self, key: SecretKey, body: bytes, *, nonce: str | None = None, **changes: str) -> dict[str, str]:
        """Signed headers of a capture."""
        head = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "content-digest": signing.digest_header(hashlib.sha256(body).digest()),
            "runner-agent": "tester",
            "idempotency-key": hashlib.sha256(body + keys.shown(key.public).encode()).hexdigest(),
        } | {name.replace("_", "-"): value for name, value in changes.items()}
        return self.sign("POST", "/v1/captures", head, key=key, nonce=nonce)

    def sign(
        self, method: str, path: str, head: Mapping[str, str], *, key: SecretKey, nonce: str | None = None
    ) -> dict[str, str]:
        """Sign a request to this door."""
        url = f"{self.origin}{path}"
        return signing.sign(method, url, head, key=key, nonce=nonce or os.urandom(16).hex(), now=self.now)

    def post(self, key: SecretKey, body: bytes | None = None, **changes: Any) -> httpx2.Response:
        """Send a capture."""
        content = a_body() if body is None else body
        return self.request("POST", "/v1/captures", self.headers(key, content, **changes), content)

    def get(self, key: SecretKey, path: str) -> httpx2.Response:
        """Ask."""
        return self.request("GET", path, self.sign("GET", path, {}, key=key))

    def request(self, method: str, path: str, head: Mapping[str, str], body: bytes | None = None) -> httpx2.Response:
        """Any request."""
        return httpx2.request(method, f"{self.origin}{path}", headers=dict(head), content=body, timeout=30, trust_env=False)


def a_body(note: str = "look at this", **fields: Any) -> bytes:
    """A capture on the wire."""
    return json.dumps({"agent": "tester", "note": note} | fields).encode()


def reason(answer: httpx2.Response) -> str:
    """The code of a refusal."""
    return str(answer.json()["error"]["code"])


@contextmanager
def a_door(path: Path, **more: Any) -> Iterator[Door]:
    """A door that listens, its agent published and nobody known yet."""
    with opened(path / "runner.db") as store:
        door = Door(store, **more)
        with listening(door) as origin:
            door.origin = origin
            door.publish()
            yield door


@contextmanager
def listening(door: Door, **table_changes: Any) -> Iterator[str]:
    """The door on a port of its own, in a thread of its own; where senders find it."""
    table = Table(**({"bind": f"127.0.0.1:{free_port()}"} | table_changes))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    ingress = Ingress(door.reception, gate=Gate(table.origin, clock=lambda: door.now), tally=door.tally, rest=door.rest)
    ingress.hand_over(door.handing)
    server = IngressServer(table, ingress)
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(timeout=20)
        yield table.origin
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(timeout=20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
