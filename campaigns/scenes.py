"""What a person does with a run, so that one certain arrow is walked. Played again from its start for each new supervisor.

A scene therefore looks first and does only what has not been done: the supervisor before this one may have died before, within
or after any of its steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from campaigns.stage import ENDED, Stage

Scene: TypeAlias = Callable[[Stage], None]


def plain(stage: Stage) -> None:
    """Approve whatever waits."""
    stage.send()
    stage.approve_all()


def parked(stage: Stage) -> None:
    """Decide only once nothing but rows waits."""
    if "parked" not in stage.memory:
        stage.reaches("parked")
        stage.memory["parked"] = True
    plain(stage)


def batch(stage: Stage) -> None:
    """Approve two calls together, in one transaction that begins neither."""
    stage.reaches("parked", "held")

    def look() -> bool | None:
        listed: Any = stage.ask(lambda client: client.record("approvals"))
        mine = [one for one in listed["approvals"] if one["run"] == stage.run]
        if len(mine) == 2:
            stage.tell("batch", "approve", calls=[{"id": one["id"], "digest": one["digest"]} for one in mine])
        elif mine:
            stage.approve(mine[0])
        return True if stage.state() in ENDED else None

    stage.until(look, "the run ends")


def deny(stage: Stage) -> None:
    """Deny the first call, approve the second."""
    stage.send()

    def look() -> bool | None:
        for approval in stage.queue():
            if "log.txt" in json.dumps(approval):
                stage.tell("approvals", approval["id"], "deny", reason="no", stop=False)
            else:
                stage.approve(approval)
        return True if stage.state() in ENDED else None

    stage.until(look, "the run ends")


def wait(stage: Stage) -> None:
    """Do nothing: deadlines or limits end it."""
    stage.send()
    stage.until(lambda: True if stage.state() in ENDED else None, "the run ends")


def stop(*states: str) -> Scene:
    """Stop the run in one of these states."""

    def play(stage: Stage) -> None:
        if stage.reaches(*states) not in ENDED:
            stage.tell("runs", stage.send(), "stop", reason="enough")
        wait(stage)

    return play


def stop_queued(stage: Stage) -> None:
    """While the supervisor is paused nothing is taken: a run whose calls are denied then waits in the queue."""
    if stage.reaches("parked", "queued") not in ENDED:
        stage.tell("pause", reason=None)
        for approval in stage.queue():
            stage.tell("approvals", approval["id"], "deny", reason="no", stop=False)
        if stage.reaches("queued") not in ENDED:
            stage.tell("runs", stage.send(), "stop", reason="enough")
    stage.tell("resume")
    wait(stage)


def pausing(stage: Stage) -> None:
    """Pause, resume, and go on."""
    if stage.reaches("held", "parked") not in ENDED:
        stage.tell("pause", reason="lunch")
        stage.tell("resume")
    plain(stage)
    stage.tell("resume")


def fail_starting(stage: Stage) -> None:
    """Its directory is gone: the container is never made."""
    away = stage.cwd.with_name("away")
    if not away.exists():
        stage.cwd.rename(away)
    wait(stage)
    away.rename(stage.cwd)


def retry(stage: Stage) -> None:
    """A run that failed so, and is set going once its directory is back."""
    if "failed" not in stage.memory:
        fail_starting(stage)
        stage.memory["failed"] = True

    def look() -> bool | None:
        if stage.state() == "failed":
            stage.tell("runs", stage.send(), "resume")
        for approval in stage.queue():
            stage.approve(approval)
        return True if stage.state() == "replied" else None

    stage.until(look, "the run replies")


def tampered(stage: Stage, content: str = "another hand\n") -> None:
    """Somebody else writes the file."""
    (stage.cwd / "log.txt").write_text(content)
    stage.memory["log.txt"] = content


def stale(stage: Stage) -> None:
    """The file changes after the call was shown."""
    if stage.reaches("held", "parked") not in ENDED and "log.txt" not in stage.memory:
        tampered(stage)
    plain(stage)


def settle(answer: str) -> Scene:
    """Say what became of an effect that nobody knows about."""

    def play(stage: Stage) -> None:
        stage.send()

        def look() -> bool | None:
            for approval in stage.queue():
                if approval["state"] == "unknown":
                    stage.tell("approvals", approval["id"], "settle", answer=answer, reason=None)
                else:
                    stage.approve(approval)
            return True if stage.state() in ENDED else None

        stage.until(look, "the run ends")

    return play


def undo(stage: Stage) -> None:
    """Take the first effect back once the run has ended."""
    plain(stage)

    def look() -> bool | None:
        (done, *_) = [one for one in stage.queue("done") if one["tool"] == "Edit" and "log.txt" in json.dumps(one)]
        if "A" not in (stage.cwd / "log.txt").read_text() and not stage.queue("executing", "approved"):
            return True
        stage.tell("approvals", done["id"], "undo")
        return None

    stage.until(look, "it is taken back")


def extend(stage: Stage) -> None:
    """Give the first call more time, then approve all."""
    if stage.reaches("held", "parked") not in ENDED:
        for approval in stage.queue()[:1]:
            time.sleep(1.5)  # a call may get no more time than its profile gives from now on: it has to be a second old
            stage.tell("approvals", approval["id"], "extend", seconds=1)
    plain(stage)


def edited(stage: Stage) -> None:
    """Approve the first call with another input."""
    if stage.reaches("held", "parked") not in ENDED:
        for approval in stage.queue():
            if "log.txt" not in json.dumps(approval):
                continue
            changed = {"file_path": "log.txt", "old_string": "end\n", "new_string": "A\nedited\nend\n"}
            plan = stage.tell("approvals", approval["id"], "edit", input=json.dumps(changed))
            if plan is not None:
                body = {"input": json.dumps(changed), "digest": plan["digest"], "reason": None}
                stage.tell("approvals", approval["id"], "approve", **body)
    plain(stage)


def granted(stage: Stage) -> None:
    """Both edits are let through by a grant; afterwards it is revoked."""
    wish = {"agent": stage.agent, "tool": "Edit", "seconds": 600, "uses": 10, "path": None, "match": {}}

    def mine() -> list[dict[str, Any]]:
        found: Any = stage.ask(lambda client: client.record("grants"))
        return [one for one in found["grants"] if one["state"] == "live" and one["agent"] == stage.agent]

    if stage.run is None and not mine():
        stage.tell("grants", **wish)
    plain(stage)
    for grant in mine():
        stage.tell("grants", grant["id"], "revoke")


def verdict(stage: Stage) -> None:
    """Approve and have the tool asked about always; afterwards that is taken back."""
    if stage.reaches("held", "parked") not in ENDED:
        for approval in stage.queue()[:1]:
            stage.tell("approvals", approval["id"], "approve-and-save", digest=approval["digest"], verdict="ask", reason=None)
    plain(stage)
    stage.tell("profiles", stage.agent, "tools", "reset", tool="Edit")


def between(stage: Stage, event: str) -> None:
    """What happens to the file of an effect that was begun, while no supervisor runs."""
    if event == "approval.succeed":
        before = (stage.cwd / "log.txt").read_text()
        (stage.cwd / "log.txt").write_text(before.replace("end\n", "A\nend\n"))
    else:
        tampered(stage)


def appears(stage: Stage) -> None:
    """As `plain`: what an interrupted effect wrote is found on the disk."""
    plain(stage)
