"""A real database in a file with the rows a test starts from; each builder names only what its test is about."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.approvals import Approver, Refusal, Request, approve, open_turn
from runner.model import OWNER, ApprovalId, CallId, CaptureId, Digest, ReplyId, RunId, Sender, SenderKind, Verdict, make_id
from runner.store import ApprovalRow, CallRow, CaptureRow, Connection, RunRow, Store, calls, captures, profiles, replies, runs
from runner.store.replies import ReplyRow

NOW = 1_700_000_000.0
PROFILE = Digest("sha256:" + "1" * 64)
DEFINITION = Digest("sha256:" + "2" * 64)
ANNA = Approver(uid=1000, channel="cli", name="anna")
BEN = Approver(uid=1001, channel="web")

_nonces = itertools.count()


def url(path: Path) -> str:
    """The SQLite URL of a file."""
    return f"sqlite:///{path}"


@contextmanager
def opened(path: Path | str) -> Iterator[Store]:
    """A store over the file at `path`, or over the database of that URL, closed at the end."""
    store = Store(path if isinstance(path, str) else url(path))
    store.open()
    try:
        yield store
    finally:
        store.close()


def fresh(prefix: str) -> str:
    """A random id."""
    return make_id(prefix, os.urandom(10))


def a_run(conn: Connection, **changes: Any) -> RunRow:
    """A queued run with its profile and capture; `changes` replace fields of the run."""
    profiles.put(conn, "{}", digest=PROFILE, name="scribe", now=NOW)
    capture = CaptureRow(id=CaptureId(fresh("c")), agent="scribe", sender=OWNER, text="{}", created=NOW)
    captures.insert(conn, capture)
    row = RunRow(
        id=RunId(fresh("r")),
        capture=capture.id,
        agent="scribe",
        profile_digest=PROFILE,
        sender=OWNER,
        strict=True,
        created=NOW,
        updated=NOW,
    )
    return runs.insert(conn, replace(row, **changes))


def a_stored_call(conn: Connection, run: RunId, **changes: Any) -> CallRow:
    """A call of `run` that has to be asked about."""
    row = CallRow(
        id=CallId(fresh("k")),
        run=run,
        segment=0,
        attempt=0,
        turn=1,
        tool="Write",
        raw='{"file_path":"out.txt","content":"x"}',
        call_digest=None,
        verdict=Verdict.ASK,
        rank=7,
        rule="ask",
        reason="a person decides.",
        wire_id="toolu_1",
        created=NOW,
    )
    return calls.append(conn, replace(row, **changes))


def a_request(conn: Connection, run: RunId, **changes: Any) -> Request:
    """A request for a new call of `run`."""
    raw = changes.get("raw", '{"file_path":"out.txt","content":"x"}')
    request = Request(
        call=a_stored_call(conn, run, raw=raw).id,
        run=run,
        segment=0,
        attempt=0,
        turn=1,
        agent="scribe",
        profile_digest=PROFILE,
        tool="Write",
        definition_digest=DEFINITION,
        raw=raw,
        why="ask",
        reason="a person decides.",
        sender=OWNER,
        expires_at=NOW + 3600,
        pre_images={"/workspace/out.txt": None},
        preview="+x",
    )
    return replace(request, **changes)


def queue(conn: Connection, *requests: Request) -> tuple[ApprovalRow | Refusal, ...]:
    """The requests opened in one turn at `NOW`."""
    return open_turn(conn, requests, now=NOW, ids=lambda: ApprovalId(fresh("a")), nonces=lambda: f"nonce-{next(_nonces)}")


def an_approval(conn: Connection, run: RunId | None = None, **changes: Any) -> ApprovalRow:
    """A pending approval; of a new run where none is given."""
    of = a_run(conn).id if run is None else run
    (row,) = queue(conn, a_request(conn, of, **changes))
    if isinstance(row, Refusal):
        raise TypeError(row.reason)
    return row


def approved(conn: Connection, **changes: Any) -> ApprovalRow:
    """An approval that Anna said yes to at `NOW`."""
    row = an_approval(conn, **changes)
    return approve(conn, row.id, digest=row.approval_digest, who=ANNA, reason=None, now=NOW)


def a_reply(conn: Connection, **changes: Any) -> ReplyRow:
    """A held reply of a run of its own."""
    run = a_run(conn)
    row = ReplyRow(
        id=ReplyId(fresh("p")),
        run=run.id,
        capture=run.capture,
        agent=run.agent,
        sender=Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="abcd-efgh-2345-6723"),
        text="It is a bill.",
        digest=Digest("sha256:" + "4" * 64),
        call_digest=None,
        profile_digest=run.profile_digest,
        rule="not_covered",
        reason="Waits for a person's approval.",
        created=NOW,
        expires=NOW + 3600,
    )
    return replies.insert(conn, replace(row, **changes))
