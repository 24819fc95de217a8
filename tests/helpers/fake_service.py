"""A supervisor without a sandbox: the API's Service over plain dicts, for tests of everything a person or program touches.

Keeps what it was asked in `asked`, so a test can say that nothing was decided.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.api.admission import Admission
from runner.api.credential import Credentials
from runner.api.server import ControlServer
from runner.api.share_service import Shares
from runner.approvals import Approver
from runner.errors import AlreadyDecidedError, DigestMismatchError, NotFoundError
from runner.model import Capture, Json, JsonObject, Profile, Sender
from tests.helpers.fake_agents import FakeAgents
from tests.helpers.fake_contacts import FakeCaptures, FakeContacts
from tests.helpers.fake_grants import GRANT, FakeGrants
from tests.helpers.fake_queue import FakeQueue
from tests.helpers.fake_record import FakeNotices, FakeStatistics
from tests.helpers.fake_replies import REPLY, FakeForwarding, FakeReplies
from tests.helpers.fake_shares import SHARE, FakeShares
from tests.helpers.fake_spending import FakeSpending
from tests.helpers.fake_switch import FakeSwitch
from tests.helpers.fake_threads import FakeThreads
from tests.helpers.fake_undos import FakeUndos
from tests.helpers.fake_witness import FakeWitness

#: No key is set up, and no tripwire.
OPEN = Admission(credentials=Credentials({}, clock=time.time, nonces=lambda: secrets.token_hex(16)), signs=None)
RUN = "r_0123456789abcdef"
APPROVAL = "a_0123456789abcdef"
CAPTURE = "c_0123456789abcdef"
DIGEST = "sha256:" + "1" * 64
CALL_DIGEST = "sha256:" + "2" * 64


def a_run(**changes: Json) -> JsonObject:
    """A run that waits for one approval."""
    run: JsonObject = {
        "id": RUN,
        "state": "held",
        "word": "needs you",
        "agent": "scribe",
        "sender": "owner",
        "strict": True,
        "segments": [],
        "calls": [
            {
                "tool": "Read",
                "input": '{"file_path": "notes.md"}',
                "verdict": "allow",
                "rank": 5,
                "reason": "a read inside the folder",
                "outcome": "ran",
            },
            {
                "tool": "Bash",
                "input": '{"command": "id"}',
                "verdict": "deny",
                "rank": 0,
                "reason": "not one of this agent's tools",
                "outcome": None,
            },
            {
                "tool": "Write",
                "input": '{"file_path": "summary.md"}',
                "verdict": "ask",
                "rank": 7,
                "reason": "a write waits",
                "outcome": None,
            },
        ],
        "reply": None,
        "usage": {"requests": 2, "turns": 2, "input_tokens": 10, "output_tokens": 5},
        "version": 3,
        "reason": None,
        "approvals": [APPROVAL],
        "progress": "waiting for a person",
        "created": 1_800_000_000.0,
    }
    return run | changes


def an_approval(**changes: Json) -> JsonObject:
    """A pending write."""
    approval: JsonObject = {
        "id": APPROVAL,
        "run": RUN,
        "agent": "scribe",
        "tool": "Write",
        "does": "Write a new file summary.md, 1 line, 10 bytes",
        "target": "summary.md",
        "class": "write",
        "egress": False,
        "claims": [],
        "turn": [],
        "read": {"files": ["notes.md"], "searches": 1},
        "alike": None,
        "denied_before": None,
        "state": "pending",
        "why": "write",
        "reason": "Write changes files, and this run is strict.",
        "digest": DIGEST,
        "call_digest": CALL_DIGEST,
        "created": 1_800_000_000.0,
        "expires": 9_800_000_000.0,
        "sender": "owner",
        "input": {"file_path": "/workspace/summary.md", "content": "# Summary\n"},
        "preview": "--- /dev/null\n+++ /workspace/summary.md\n@@ -0,0 +1 @@\n+# Summary\n",
        "warnings": [],
        "history": [{"time": 1_800_000_000.0, "event": "requested", "data": {"why": "write"}}],
        "paths": [{"asked": "/workspace/summary.md", "resolved": "/workspace/summary.md"}],
        "outcome": None,
        "version": 1,
    }
    return approval | changes


def an_event(seq: int, event: str, who: str, **data: Json) -> JsonObject:
    """An event of the audit, about the run."""
    return {"seq": seq, "time": 1_800_000_000.0 + seq, "who": who, "event": event, "subject": RUN, "data": {**data}}


class FakeService:
    """Answers from `run_row` and `approval_row`, which tests replace."""

    def __init__(self) -> None:
        self.total = 1
        self.run_row = a_run()
        self.approval_row = an_approval()
        self.profile_rows: list[JsonObject] = [
            {
                "name": "scribe",
                "digest": DIGEST,
                "tools": ["Read", "Write"],
                "policy": "read_only",
                "strict": True,
                "description": "d",
            }
        ]
        self.asked: list[tuple[str, object]] = []
        self.agents = FakeAgents(self.asked)
        self.switch = FakeSwitch(self.asked)
        self.queue = FakeQueue(self)
        self.spending = FakeSpending(self.asked)
        self.undos = FakeUndos(self.asked)
        self.contacts = FakeContacts(self.asked)
        self.captures = FakeCaptures(self.asked)
        self.replies = FakeReplies(self.asked)
        self.shares: Shares = FakeShares(self.asked)
        self.threads = FakeThreads(self.asked)
        self.forwarding = FakeForwarding(self.asked)
        self.grants = FakeGrants(self.asked)
        self.notices = FakeNotices(self.asked)
        self.statistics = FakeStatistics(self.asked)
        self.witness = FakeWitness(self.asked)
        self.event_rows = [an_event(1, "run.queue", "owner"), an_event(2, "run.claim", "supervisor")]
        self.happening: list[JsonObject] = []  #: events that come one by one, when somebody waits for the next
        self.slow = 0.05  #: seconds after which a wait without news gives up
        self.later: list[JsonObject] = []  #: what the run becomes, one per wait

    async def status(self) -> JsonObject:
        """A running supervisor."""
        return {
            "version": "0.1.0",
            "pid": 1,
            "uptime": 5.0,
            "containers": 0,
            "runs": {"held": 1},
            "pending": 1,
            "model": "scripted",
        }

    async def send(self, capture: Capture, *, sender: Sender) -> JsonObject:
        """Take it."""
        self.asked.append(("send", (capture, sender)))
        return {"capture": CAPTURE, "run": RUN}

    async def runs(self, *, agent: str | None, state: str | None) -> list[JsonObject]:
        """The one run."""
        self.asked.append(("runs", (agent, state)))
        return [self.run_row]

    async def run(self, ref: str) -> JsonObject:
        """The one run."""
        return self._known(ref, self.run_row)

    async def wait_run(self, ref: str, *, version: int, seconds: float) -> JsonObject:
        """The next of `later`, at once; else the run after a moment."""
        self.asked.append(("wait_run", (version, seconds)))
        if self.later:
            self.run_row = self.later.pop(0)
        else:
            await asyncio.sleep(min(seconds, self.slow))
        return self._known(ref, self.run_row)

    async def approvals(self, *, run: str | None, states: list[str] | None, limit: int | None = None) -> JsonObject:
        """The one approval."""
        self.asked.append(("approvals", (run, states)))
        shown: list[Json] = [self.approval_row]
        return {"snapshot": "s_1", "approvals": shown[:limit], "total": self.total}

    async def approval(self, ref: str) -> JsonObject:
        """The one approval."""
        return self._known(ref, self.approval_row)

    async def wait_approval(self, ref: str, *, version: int, seconds: float) -> JsonObject:
        """Executing becomes done."""
        if self.approval_row["state"] == "executing":
            self.approval_row |= {"state": "done", "outcome": "wrote 10 bytes"}
        return self._known(ref, self.approval_row)

    async def approve(self, ref: str, *, digest: str, reason: str | None, who: Approver, save: str | None = None) -> JsonObject:
        """Pending becomes executing."""
        self._decidable(ref)
        if digest != self.approval_row["digest"]:
            raise DigestMismatchError("cannot approve: this is not what is queued")
        self.asked.append(("approve", (digest, reason, who)) if save is None else ("approve and save", (digest, save, who)))
        self.approval_row |= {"state": "executing"}
        return self.approval_row

    async def deny(self, ref: str, *, reason: str | None, stop: bool, who: Approver, save: str | None = None) -> JsonObject:
        """Pending becomes denied."""
        self._decidable(ref)
        self.asked.append(("deny", (reason, stop, who)) if save is None else ("deny and save", (reason, save, who)))
        self.approval_row |= {"state": "denied"}
        return self.approval_row

    async def settle(self, ref: str, *, happened: bool, reason: str | None, who: Approver) -> JsonObject:
        """Unknown becomes done or failed."""
        if self._known(ref, self.approval_row)["state"] != "unknown":
            raise AlreadyDecidedError(f"cannot settle {ref}: already {self.approval_row['state']}")
        self.asked.append(("settle", (happened, reason, who)))
        self.approval_row |= {"state": "done" if happened else "failed"}
        return self.approval_row

    async def log(self, *, after: int | None, limit: int, seconds: float) -> JsonObject:
        """The events behind a place; when there are none, the next of `happening`, at once."""
        self.asked.append(("log", (after, limit, seconds)))
        if not [event for event in self.event_rows if int(str(event["seq"])) > (after or 0)] and self.happening:
            self.event_rows.append(self.happening.pop(0))
        found = [event for event in self.event_rows if int(str(event["seq"])) > (after or 0)][-limit:]
        if not found:
            await asyncio.sleep(min(seconds, 0.05))
        return {"events": [*found], "next": found[-1]["seq"] if found else after or 0}

    async def stop(self, ref: str, *, who: Approver, reason: str | None) -> JsonObject:
        """The run is cancelled."""
        self.asked.append(("stop", (reason, who)))
        self.run_row |= {"state": "cancelled"}
        return self._known(ref, self.run_row)

    async def resume(self, ref: str) -> JsonObject:
        """The run is queued again."""
        self.asked.append(("resume", ref))
        self.run_row |= {"state": "queued"}
        return self._known(ref, self.run_row)

    async def publish(self, profile: Profile, *, who: Approver) -> JsonObject:
        """Remember it."""
        self.asked.append(("publish", (profile, who)))
        return {"name": profile.name, "digest": profile.digest}

    async def profiles(self) -> list[JsonObject]:
        """The rows."""
        return self.profile_rows

    async def find(self, ref: str) -> JsonObject:
        """By prefix of at least six characters."""
        known = {"approval": APPROVAL, "run": RUN, "capture": CAPTURE, "grant": GRANT, "reply": REPLY, "share": SHARE}
        for kind, id in known.items():
            if len(ref) >= 6 and id.startswith(ref):
                whole = self.grants.row if kind == "grant" else await self.shares.shown(id) if kind == "share" else {}
                return {"kind": kind, "id": id, **whole}
        raise NotFoundError(f"cannot find {ref}: no such id")

    @property
    def decisions(self) -> list[str]:
        """Names of the deciding operations that were carried out."""
        return [name for name, _ in self.asked if name in {"approve", "deny", "stop", "publish", "send", "settle"}]

    def _known(self, ref: str, row: JsonObject) -> JsonObject:
        id = str(row["id"])
        if len(ref) < 6 or not id.startswith(ref):
            raise NotFoundError(f"cannot find {ref}: no such id")
        return row

    def _decidable(self, ref: str) -> None:
        row = self._known(ref, self.approval_row)
        if row["state"] != "pending":
            raise AlreadyDecidedError(f"cannot decide {ref}: already {row['state']} by uid 0")


@contextmanager
def served(
    service: FakeService, directory: Path, *, approvers: tuple[int, ...] = (), admission: Admission = OPEN
) -> Iterator[Path]:
    """The service on a real control socket in a thread of its own; yields the socket's path."""
    server = ControlServer(service, directory=directory, approvers=approvers, admission=admission)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(timeout=20)
        yield server.path
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(timeout=20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
