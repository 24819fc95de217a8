"""Fifty people decide about one call at the same time: one wins, and the others are told who it was (L1)."""

from __future__ import annotations

import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from campaigns.stage import Stage
from campaigns.tally import Count
from runner.api.client import Client
from runner.errors import AlreadyDecidedError, RunnerError

DECIDERS = 50
#: So many of them are commands of their own; the others are clients of the same socket.
COMMANDS = 4


def raced(stage: Stage, seed: int) -> Count:
    """One race about the first call of a held run; the second call is approved afterwards."""
    count = Count(faults=1)
    stage.reset("holder")
    if stage.dead:
        stage.start()
    stage.reaches("held")
    approval = next(one for one in stage.queue())
    draw = random.Random(seed)
    answers = [draw.choice(("approve", "deny")) for _ in range(DECIDERS)]
    gate = threading.Barrier(DECIDERS)

    def client(answer: str) -> str:
        body: dict[str, Any] = {"digest": approval["digest"]} if answer == "approve" else {"reason": "no", "stop": False}
        with Client(stage.supervisor.state / "control.sock") as one:
            gate.wait()
            try:
                one.post("approvals", approval["id"], answer, body=body)
            except AlreadyDecidedError as error:
                return "told" if " by " in str(error) else "not told"
            except RunnerError as error:
                return error.brief
            return "won"

    def command(answer: str) -> str:
        words = ["approve", approval["id"], "--digest", approval["digest"], "--yes"]
        gate.wait()
        done = stage.supervisor.run(*(words if answer == "approve" else ["deny", approval["id"]]))
        if done.returncode == 0:
            return "won"
        return "told" if done.returncode == 4 and " by " in done.stderr else f"exit {done.returncode}: {done.stderr}"

    with ThreadPoolExecutor(max_workers=DECIDERS) as pool:
        racers = [pool.submit(command if n < COMMANDS else client, answer) for n, answer in enumerate(answers)]
        found = [racer.result() for racer in racers]
    count.doubled += max(found.count("won") - 1, 0)
    count.lost_approvals += found.count("won") == 0
    others = [one for one in found if one not in ("won", "told")]
    count.missed += bool(others)
    if others:
        print(f"    not told who was first: {others[:3]}", file=sys.stderr)
    stage.approve_all()
    stage.judge(count)
    return count
