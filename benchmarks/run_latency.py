"""What hosting costs: a run under the supervisor against a bare `docker run` of the same image and CLI, turn for turn.

Both play the same turns in alternation, so that a busy machine is as busy for one as for the other. Measured: a cold run from
accepted capture to first model request and to reply; a parked run from `approve` to effect and to reply; memory of live agents.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import docker
import psutil

from benchmarks._model import Model, Turns, say, use
from runner.agent import environment, versions
from runner.api.client import Client
from runner.model import JsonObject
from runner.sandbox.image import LATEST
from tests.helpers.supervisor_process import SupervisorProcess, eventually

RESULT = Path(__file__).parent / "results/run_latency.json"
ROUNDS = 20
AGENTS = 3  #: live at once while memory is looked at
LIMIT = 480.0  #: seconds after which no further round begins
BOUND = 1.25  #: what a cold run may cost over the bare CLI (issue 3)
READ: Turns = ((say("I will look."), use("Read", file_path="/workspace/in.txt")), (say("done"),))
PLAIN = ["--tools", "Read,Write", "--allowedTools", "Read,Write"]


def write(name: str) -> Turns:
    """A turn that writes under the name the CLI has for it, and the reply."""
    return ((use(name, file_path="/workspace/out.txt", content=secrets.token_hex(8)),), (say("done"),))


@dataclass(slots=True)
class Bench:
    """A supervisor, a model for it and for bare containers, and the seconds measured so far."""

    supervisor: SupervisorProcess
    model: Model
    gateway: Path
    cwd: Path  #: the bare container's
    label: str
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def note(self, kind: str, **spans: float) -> None:
        """Keep what one round took."""
        for name, value in spans.items():
            self.seconds.setdefault(f"{kind}.{name}", []).append(value)

    def bare(self, kind: str, turns: Turns) -> None:
        """The CLI in a container of its own, as a person would run it, until it is gone."""
        settings = [word for name, value in environment().items() for word in ("-e", f"{name}={value}")]
        mounts = ["-v", f"{self.gateway}:/run/gateway", "-v", f"{self.cwd}:/workspace"]
        home = ["--user", "10001:10001", "--tmpfs", "/home/agent:uid=10001,gid=10001"]
        command = ["docker", "run", "--rm", "-i", "--network", "none", "--label", self.label, *home, *mounts, *settings]
        command += ["--entrypoint", "claude", LATEST, "-p", "go", "--model", "claude-sonnet-4-5", *PLAIN]
        command += ["--output-format", "stream-json", "--verbose"]
        self.model.play(turns)
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
        ended = time.perf_counter()
        if done.returncode or len(self.model.asked) != len(turns):
            raise SystemExit(f"the bare run failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        self.note(kind, first_request=self.model.asked[0] - began, reply=ended - began)

    def cold(self, client: Client) -> None:
        """Capture accepted, first model request, reply."""
        self.model.play(READ)
        run = self.send(client, "reader")
        accepted = time.perf_counter()
        until(client, run, "replied")
        self.note("cold", first_request=self.model.asked[0] - accepted, reply=time.perf_counter() - accepted)

    def parked(self, client: Client) -> None:
        """Parked without a container, then approve, effect, reply."""
        self.model.play(write("mcp__runner__Write"))
        run = self.send(client, "parker")
        accepted = time.perf_counter()
        until(client, run, "parked")
        parked = time.perf_counter()
        if self.supervisor.containers():
            raise SystemExit("a parked run has a container")
        found: Any = client.get("approvals", run=run)
        (approval,) = found["approvals"]
        began = time.perf_counter()
        client.post("approvals", approval["id"], "approve", body={"digest": approval["digest"]})
        effect = time.perf_counter()
        until(client, run, "replied")
        replied = time.perf_counter()
        self.note("parked", to_park=parked - accepted, effect=effect - began, reply=replied - began)

    def send(self, client: Client, agent: str) -> str:
        """Hand a capture over; the run's id."""
        return str(client.post("captures", body={"agent": agent, "note": "go"})["run"])  # type: ignore[index, call-overload]

    def memory(self, client: Client) -> JsonObject:
        """Bytes of containers whose agents wait for a person, and of the supervisor that holds them."""
        before = rss(self.supervisor)
        self.model.play(write("mcp__runner__Write"))
        runs = [self.send(client, "holder") for _ in range(AGENTS)]
        for run in runs:
            until(client, run, "held")
        engine = docker.from_env(timeout=60)
        used = [memory_of(engine.api.stats(one, stream=False, one_shot=True)) for one in self.supervisor.containers()]
        engine.close()
        held = rss(self.supervisor)
        for run in runs:
            client.post("runs", run, "stop", body={"reason": None})
        per_agent = round(statistics.mean(used))
        return {"agents": len(used), "bytes_per_agent": per_agent, "supervisor_rss": before, "supervisor_rss_while_held": held}


def until(client: Client, run: str, state: str) -> None:
    """Wait for a state, as `--wait` does; any end but the one asked for is a failure."""
    found = client.record("runs", run)
    while found["state"] != state:
        if found["state"] in {"failed", "cancelled", "lost", "replied"}:
            raise SystemExit(f"{run} is {found['state']}: {found['reason']}")
        found = client.wait("runs", run, version=int(str(found["version"])), seconds=30.0)


def memory_of(stats: Mapping[str, Any]) -> int:
    """Memory of a container as `docker stats` counts it: without the page cache that can be dropped."""
    memory = stats["memory_stats"]
    details = memory["stats"]
    return int(memory["usage"] - details.get("total_inactive_file", details.get("inactive_file", 0)))


def rss(supervisor: SupervisorProcess) -> int:
    """Resident bytes of the supervisor."""
    assert supervisor.process is not None
    return int(psutil.Process(supervisor.process.pid).memory_info().rss)


@contextmanager
def prepared(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Bench]:
    """Everything up, the supervisor with more `settings`; afterwards nothing of it is left."""
    label = f"runner.bench={secrets.token_hex(8)}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        folder.chmod(0o755)
        gateway, cwd, model = folder / "gateway", folder / "cwd", Model()
        for made in (gateway, cwd):
            made.mkdir()
        os.chown(cwd, 10001, 10001)
        url = stack.enter_context(model.on_loopback())
        stack.enter_context(model.on_socket(gateway / "api.sock"))
        supervisor = SupervisorProcess(folder / "home", environment={"RUNNER_MODEL": url, **settings})
        for place in (cwd, supervisor.cwd):
            (place / "in.txt").write_text("a line to read\n" * 20)
        stack.callback(remove, label)
        stack.callback(supervisor.stop)
        supervisor.start()
        supervisor.publish("reader")
        supervisor.publish("parker", approvals='[approvals]\nhold = "0s"')
        supervisor.publish("holder", approvals='[approvals]\nhold = "10m"')
        yield Bench(supervisor=supervisor, model=model, gateway=gateway, cwd=cwd, label=label)


def remove(label: str) -> None:
    """Remove what an interrupted bare run left."""
    listed = subprocess.run(["docker", "ps", "-aq", "--filter", f"label={label}"], capture_output=True, text=True, check=True)
    for container in listed.stdout.split():
        subprocess.run(["docker", "rm", "-f", container], capture_output=True, check=False)


def quantiles(values: Sequence[float]) -> JsonObject:
    """Median and 95th percentile, in seconds."""
    ordered = sorted(values)
    return {"p50": round(statistics.median(ordered), 4), "p95": round(ordered[max(0, -(-len(ordered) * 95 // 100) - 1)], 4)}


def measure(bench: Bench, rounds: int) -> JsonObject:
    """Play the rounds and put the numbers together."""
    began = time.monotonic()
    played = 0
    with Client(bench.supervisor.state / "control.sock") as client:
        warm = [lambda: bench.bare("bare", READ), lambda: bench.cold(client)]
        for work in warm:
            work()
        bench.seconds.clear()  # the first of each fills the disk's cache for all others
        while played < rounds and time.monotonic() - began < LIMIT:
            in_turn: list[Callable[[], None]] = [
                lambda: bench.bare("bare", READ),
                lambda: bench.cold(client),
                lambda: bench.bare("bare_write", write("Write")),
                lambda: bench.parked(client),
            ]
            for work in in_turn:
                work()
            played += 1
        memory = bench.memory(client)
    eventually(lambda: True if not bench.supervisor.containers() else None, "no container is left")
    seconds: dict[str, Any] = {name: quantiles(values) for name, values in sorted(bench.seconds.items())}
    return {"rounds": played, "seconds": seconds, "ratios": ratios(seconds), "memory": memory, "machine": machine()}


def ratios(seconds: Mapping[str, Any]) -> JsonObject:
    """Each span as a multiple of the bare run's, p50 by p50 and p95 by p95."""
    pairs = {
        "cold.first_request": "bare.first_request",
        "cold.reply": "bare.reply",
        "parked.to_park": "bare_write.reply",
        "parked.effect": "bare_write.reply",
        "parked.reply": "bare_write.reply",
    }
    return {
        name: {point: round(seconds[name][point] / seconds[bare][point], 3) for point in ("p50", "p95")}
        for name, bare in pairs.items()
    }


def machine() -> JsonObject:
    """Where the numbers are from."""
    engine = docker.from_env(timeout=60)
    sdk, cli = versions()
    found: JsonObject = {"cpus": os.cpu_count(), "memory": psutil.virtual_memory().total, "python": platform.python_version()}
    found |= {"engine": engine.version()["Version"], "sdk": sdk, "cli": cli, "load": os.getloadavg()[0]}
    engine.close()
    return found


def show(result: Any) -> None:
    """The ratios, for a person."""
    print(f"{result['rounds']} rounds; seconds p50 / p95, and as a multiple of the bare docker run of the same turns")
    for name, value in result["seconds"].items():
        ratio = result["ratios"].get(name)
        times = "" if ratio is None else f"{ratio['p50']:>8.2f}x{ratio['p95']:>7.2f}x"
        print(f"  {name:<26}{value['p50']:>8.3f}{value['p95']:>8.3f}{times}")
    memory = result["memory"]
    print(f"  memory per live agent     {memory['bytes_per_agent'] / 2**20:>8.0f} MiB ({memory['agents']} at once)")
    cold = result["ratios"]["cold.reply"]["p50"]
    print(f"cold run over the bare CLI: {cold:.2f}x, bound {BOUND}x: {'kept' if cold <= BOUND else 'NOT KEPT'}")


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", nargs="?", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with prepared() as bench:
        result = measure(bench, max(options.rounds, 1))
    options.result.parent.mkdir(parents=True, exist_ok=True)
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    show(result)


if __name__ == "__main__":
    main()
