"""A burst of contacts' captures carried to their ends: how many finish, how evenly they wait, and what it does to the owner.

Each contact sends one; one of them floods besides, as often as an hour lets it; the owner sends one in the middle. Containers
are real, the model is scripted: what is measured is the queue.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from runner.api.client import Client
from runner.api.courier import Courier
from runner.api.outbox import Outbox
from runner.captures.ed25519 import SecretKey
from runner.model import JsonObject
from tests.helpers.supervisor_process import SupervisorProcess

#: Captures of the one that floods, its first included; an hour lets it send 20.
FLOOD = 16
ENDS = frozenset({"replied", "failed", "cancelled", "lost"})
AGENT = "finisher"


def finished(
    supervisor: SupervisorProcess, to: str, keys: Sequence[SecretKey], *, tell: Callable[[str], None] = print
) -> JsonObject:
    """Send them all at once, wait for the last end, and say what became of each."""
    began = time.time()
    wanted = [*range(len(keys)), *([0] * (FLOOD - 1))]
    with Client(supervisor.state / "control.sock") as client:
        with ThreadPoolExecutor(16) as threads:
            sent = list(threads.map(lambda job: _send(supervisor, to, keys[job[1]], number=job[0]), enumerate(wanted)))
        accepted = time.time()
        own = str(client.post("captures", body={"agent": AGENT, "note": "the owner's"})["run"])  # type: ignore[index]
        rows = _until_ended(client, len(sent) + 1, tell=tell)
    return _facts(rows, sent=sent, own=own, began=began, accepted=accepted)


def _send(supervisor: SupervisorProcess, to: str, key: SecretKey, *, number: int) -> str:
    outbox = Outbox(supervisor.home / f"sender-{number}")
    body = json.dumps({"agent": AGENT, "note": f"capture {number}"}).encode()
    with Courier(to, key, ca=None, say=lambda _: None) as courier:
        return str(courier.send(body, agent=AGENT, outbox=outbox, key_file="k").capture)


def _until_ended(client: Client, count: int, *, tell: Callable[[str], None]) -> list[Any]:
    """All runs of the agent once they have ended; says now and then how many have."""
    told = 0.0
    while True:
        rows: Any = client.get("runs", agent=AGENT)
        over = sum(row["state"] in ENDS for row in rows)
        if time.monotonic() - told > 15:
            told = time.monotonic()
            tell(f"  {over} of {count} have ended")
        if over >= count:
            return [client.record("runs", row["id"]) for row in rows]
        time.sleep(0.5)


def _facts(rows: Sequence[Any], *, sent: Sequence[str], own: str, began: float, accepted: float) -> JsonObject:
    of_capture = {row["capture"]: row for row in rows}
    theirs = [of_capture[capture] for capture in sent if capture in of_capture]
    waits: dict[str, list[float]] = {}
    for row in theirs:
        waits.setdefault(row["sender"], []).append(row["updated"] - row["created"])
    flooder = max(waits, key=lambda sender: len(waits[sender]))
    single = sorted(found[0] for sender, found in waits.items() if sender != flooder)
    last = max(row["updated"] for row in theirs if row["sender"] != flooder)
    before = [row for row in theirs if row["updated"] <= last]
    mine = next(row for row in rows if row["id"] == own)
    return {
        "captures": len(sent),
        "contacts": len(waits),
        "accepted_in_seconds": round(accepted - began, 2),
        "finished_in_seconds": round(max(row["updated"] for row in theirs) - began, 2),
        "lost": len(sent) - len(theirs),
        "twice": len(rows) - 1 - len(theirs),
        "ended_as": dict(Counter(row["state"] for row in theirs)),
        "contacts_without_an_end": len(waits) - len({row["sender"] for row in theirs if row["state"] == "replied"}),
        "wait_p50": round(statistics.median(single), 2),
        "wait_p95_over_p50": round(single[int(len(single) * 0.95)] / statistics.median(single), 2),
        "most_at_once_of_one": max(_overlap([row for row in theirs if row["sender"] == sender]) for sender in waits),
        "flooder_share_of_captures": round(FLOOD / len(sent), 3),
        "flooder_share_while_others_waited": round(sum(row["sender"] == flooder for row in before) / len(before), 3),
        "owner_wait": round(mine["updated"] - mine["created"], 2),
        "owner_wait_over_p50": round((mine["updated"] - mine["created"]) / statistics.median(single), 3),
        "owner_ended_as": mine["state"],
    }


def _overlap(rows: Sequence[Any]) -> int:
    """How many of these had a container at the same moment."""
    marks = [mark for row in rows for one in row["segments"] for mark in ((one["created"], 1), (one["ended"], -1))]
    now = most = 0
    for _, step in sorted(marks):
        now += step
        most = max(most, now)
    return most
