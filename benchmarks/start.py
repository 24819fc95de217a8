"""How fast an agent starts: claim to first model request, cold and from the pool, against a bare `docker run` of the same CLI.

All play in alternation in one run, so that a busy machine is as busy for one as for the others; only ratios say something.
Also: creations that fail in bursts, memory of live, waiting and parked agents, how many fit, and the recovery after kill -9.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import psutil

from benchmarks.run_latency import READ, Bench, machine, memory_of, prepared, rss, until, write
from runner.api.client import Client
from runner.model import JsonObject
from runner.supervisor.room import AGENT
from tests.helpers.supervisor_process import eventually

RESULT = Path(__file__).parent / "results/start.json"
ROUNDS, CREATIONS, BURST, LIVE = 30, 500, 20, 50
BATCH = 10  #: live agents that are begun at a time
RESERVE = 512 * 2**20  #: what the host keeps for itself
#: Ratios to the bare CLI's time to its first request (issue 7), share of failures, seconds of a recovery.
WARM, COLD, FAILURES, RECOVERY = 0.4, 1.1, 0.001, 5.0


@dataclass(slots=True, kw_only=True)
class Starts:
    """A bench, and what is asked of it."""

    bench: Bench
    client: Client

    def one(self, kind: str, agent: str) -> None:
        """Capture accepted, first model request, reply."""
        self.bench.model.play(READ)
        run = self.bench.send(self.client, agent)
        accepted = time.perf_counter()
        until(self.client, run, "replied")
        replied = time.perf_counter()
        self.bench.note(kind, first_request=self.bench.model.asked[0] - accepted, reply=replied - accepted)

    def settled(self, waiting: int) -> None:
        """Until nothing runs and so many wait: the machine is the next one's alone."""

        def look() -> bool | None:
            return True if sum(self.states().values()) == waiting == self.states().get("paused", 0) else None

        eventually(look, f"{waiting} containers wait and no other is there")

    def states(self) -> dict[str, int]:
        """Containers of this supervisor by state."""
        engine = docker.from_env(timeout=60)
        found = engine.api.containers(all=True, filters={"label": f"runner.state={self.bench.supervisor.label}"})
        engine.close()
        counts: dict[str, int] = {}
        for one in found:
            counts[one["State"]] = counts.get(one["State"], 0) + 1
        return counts


def quantiles(values: Sequence[float]) -> JsonObject:
    """Median and 99th percentile, in seconds."""
    ordered = sorted(values)
    return {f"p{point}": round(ordered[max(0, -(-len(ordered) * point // 100) - 1)], 4) for point in (50, 99)}


def latency(starts: Starts, rounds: int) -> JsonObject:
    """Bare, cold and warm, one after another, round by round."""
    bench = starts.bench
    starts.one("cold", "reader")
    for number in range(rounds + 1):
        starts.settled(waiting=1)
        bench.bare("bare", READ)
        starts.one("warm", "reader")
        starts.settled(waiting=1)
        # An agent of another profile has nobody waiting: it was never sent anything before, or its container is taken.
        starts.one("cold", f"cold{number}")
        retired(bench, f"cold{number}")
        if number == 0:
            bench.seconds.clear()  # the first of each fills the disk's cache for all others
    seconds: dict[str, Any] = {name: quantiles(values) for name, values in sorted(bench.seconds.items())}
    ratios = {
        f"{kind}.{what}": {
            point: round(seconds[f"{kind}.{what}"][point] / seconds[f"bare.{what}"][point], 3) for point in ("p50", "p99")
        }
        for kind in ("warm", "cold")
        for what in ("first_request", "reply")
    }
    return {"seconds": seconds, "ratios": ratios}


def retired(bench: Bench, agent: str) -> None:
    """Take an agent out of service, and publish the one that comes next."""
    bench.supervisor.run("profile", "retire", agent)
    bench.supervisor.publish(f"cold{int(agent.removeprefix('cold')) + 1}")


def bursts(starts: Starts, creations: int) -> JsonObject:
    """Runs in bursts, each with a container of its own; how many failed, and why."""
    failed: list[str] = []
    began = time.perf_counter()
    made = 0
    while made < creations:
        starts.bench.model.play(READ[-1:])
        runs = [starts.bench.send(starts.client, "burst") for _ in range(min(BURST, creations - made))]
        made += len(runs)
        for run in runs:
            try:
                until(starts.client, run, "replied")
            except SystemExit as error:
                failed.append(str(error))
    return {
        "creations": made,
        "burst": BURST,
        "failed": len(failed),
        "why": failed[:5],
        "seconds": round(time.perf_counter() - began, 1),
    }


def live(starts: Starts, wanted: int) -> JsonObject:
    """As many agents as fit, at once, waiting for a person; their memory; then kill -9 and the next supervisor."""
    bench = starts.bench
    before = rss(bench.supervisor)
    bench.model.play(write("mcp__runner__Write"))
    for begun in range(0, wanted, BATCH):
        runs = [bench.send(starts.client, "holder") for _ in range(min(BATCH, wanted - begun))]
        for run in runs:
            until(starts.client, run, "held")
    engine = docker.from_env(timeout=60)
    ids = bench.supervisor.containers()
    used = [memory_of(engine.api.stats(one, stream=False, one_shot=True)) for one in ids]
    engine.close()
    each = (sum(used) + rss(bench.supervisor) - before) / len(used)
    return {
        "agents": len(ids),
        "bytes_per_live_agent": round(sum(used) / len(used)),
        "with_its_share_of_the_supervisor": round(each),
        "fit_in_this_memory": int((psutil.virtual_memory().total - before - RESERVE) / each),
        "let_in_at": AGENT,
        "recovery": recovery(bench, ids),
    }


def recovery(bench: Bench, former: Sequence[str]) -> JsonObject:
    """From the next supervisor's start, Python's own included, until it is ready; by then all the killed one's are gone."""
    assert bench.supervisor.process is not None
    bench.supervisor.process.send_signal(signal.SIGKILL)
    bench.supervisor.process.wait()
    bench.supervisor.process = None
    began = time.perf_counter()
    bench.supervisor.start()
    ready = time.perf_counter() - began
    return {"agents": len(former), "seconds": round(ready, 2), "left": len({*former} & {*bench.supervisor.containers()})}


def waiting_memory(starts: Starts) -> JsonObject:
    """A container that waits, and a parked run: no container at all."""
    starts.settled(waiting=1)
    engine = docker.from_env(timeout=60)
    (one,) = starts.bench.supervisor.containers()
    used = memory_of(engine.api.stats(one, stream=False, one_shot=True))
    engine.close()
    return {"bytes_per_waiting_container": used, "bytes_per_parked_run": 0}


def measure(bench: Bench, *, rounds: int, creations: int, agents: int) -> JsonObject:
    """Everything, one after another."""
    result: dict[str, Any] = {"machine": machine(), "rounds": rounds}
    bench.supervisor.publish("cold0")
    with Client(bench.supervisor.state / "control.sock") as client:
        starts = Starts(bench=bench, client=client)
        result |= latency(starts, rounds)
        result["waiting"] = waiting_memory(starts)
        bench.supervisor.publish("burst")
        result["bursts"] = bursts(starts, creations)
        result["live"] = live(starts, agents)
    return result


def show(result: Mapping[str, Any]) -> None:
    """The ratios, for a person."""
    for name, value in result["seconds"].items():
        ratio = result["ratios"].get(name)
        times = "" if ratio is None else f"{ratio['p50']:>8.2f}x{ratio['p99']:>7.2f}x"
        print(f"  {name:<22}{value['p50']:>8.3f}{value['p99']:>8.3f}{times}")
    live_ones, recovered = result["live"], result["live"]["recovery"]
    mib = 2**20
    print(
        f"  memory: live {live_ones['bytes_per_live_agent'] / mib:.0f} MiB, waiting "
        f"{result['waiting']['bytes_per_waiting_container'] / mib:.0f} MiB, parked 0; {live_ones['agents']} live at once, "
        f"{live_ones['fit_in_this_memory']} fit this machine's memory"
    )
    bursts_made = result["bursts"]
    goals = (
        ("warm first request", result["ratios"]["warm.first_request"]["p50"], WARM, "x"),
        ("cold first request", result["ratios"]["cold.first_request"]["p50"], COLD, "x"),
        ("creations that failed", bursts_made["failed"] / max(bursts_made["creations"], 1), FAILURES, ""),
        (f"recovery with {recovered['agents']} live", recovered["seconds"], RECOVERY, " s"),
        ("containers left", recovered["left"], 0, ""),
    )
    for name, found, goal, unit in goals:
        print(f"{name}: {found:g}{unit}, goal {goal:g}{unit}: {'kept' if found <= goal else 'NOT KEPT'}")


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", nargs="?", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--creations", type=int, default=CREATIONS)
    parser.add_argument("--live", type=int, default=LIVE)
    options = parser.parse_args()
    settings = {"RUNNER_POOL__SIZE": "1", "RUNNER_POOL__TOTAL": "1"}
    settings |= {"RUNNER_HOST__MAX_AGENTS": str(options.live + 1), "RUNNER_HOST__MAX_PER_AGENT": str(options.live + 1)}
    with prepared(settings) as bench:
        result = measure(bench, rounds=options.rounds, creations=options.creations, agents=options.live)
    options.result.parent.mkdir(parents=True, exist_ok=True)
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    show(result)


if __name__ == "__main__":
    main()
