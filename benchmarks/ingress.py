"""What the network's door costs: captures in a burst carried to their ends, and the owner's commands in a flood of refusals.

The owner's question is asked over the control socket without and with strangers knocking, in one run, so that the ratio says
what they do to it. Strangers send well-made requests signed by a key of nobody: the most that a refusal can cost.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import psutil

from benchmarks._finishing import AGENT, finished
from benchmarks.run_latency import machine
from runner.api.client import Client
from runner.api.courier import Courier
from runner.api.outbox import Outbox
from runner.captures import ed25519, signing
from runner.captures.ed25519 import SecretKey
from runner.model import JsonObject
from tests.helpers.door import free_port
from tests.helpers.supervisor_process import SupervisorProcess

RESULT = Path(__file__).parent / "results/ingress.json"
CONTACTS, RATE, SECONDS = 200, 500, 10.0
QUESTIONS = 200
CONNECTIONS = 24
#: Issue 8: refusals a second that must be held, and how much slower the owner's question may be meanwhile.
GOALS = {"refusals_per_second": 500.0, "owner_p50_over_idle": 3.0}
#: Two containers at once of one contact, and the owner's run well before a contact's in the middle of the burst.
FAIR = {"most_at_once_of_one": 2, "owner_wait_over_p50": 0.5}


def headers(to: str, key: SecretKey) -> dict[str, str]:
    """A capture's head, signed."""
    head = {
        "content-type": "application/json",
        "content-length": "2",
        "content-digest": signing.digest_header(b"0" * 32),
        "runner-agent": "tester",
        "idempotency-key": "a" * 32,
    }
    return signing.sign("POST", f"{to}/v1/captures", head, key=key, nonce=os.urandom(16).hex(), now=time.time())


def knock(to: str, rate: int, stop: Event, counted: Any) -> None:  # noqa: PLR0917 - multiprocessing hands it over so
    """Send refused requests at a rate over a few connections, each answer awaited; in a process of its own."""
    host, _, port = to.removeprefix("http://").partition(":")
    lines = [f"{name}: {value}" for name, value in headers(to, ed25519.make()).items()]
    request = "\r\n".join(["POST /v1/captures HTTP/1.1", f"host: {host}", *lines, "", "{}"]).encode()

    def one(number: int) -> None:
        del number
        connection = socket.create_connection((host, int(port)))
        due = time.perf_counter()
        while not stop.is_set():
            connection.sendall(request)
            answer = b""
            while b"}}" not in answer:
                part = connection.recv(4096)
                if not part:
                    connection = socket.create_connection((host, int(port)))
                    break
                answer += part
            with counted.get_lock():
                counted.value += 1
            due += CONNECTIONS / rate
            time.sleep(max(due - time.perf_counter(), 0))

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(one, range(CONNECTIONS)))


@contextmanager
def strangers(to: str, rate: int) -> Iterator[Any]:
    """Strangers knock meanwhile; gives the count of refusals."""
    context = multiprocessing.get_context("spawn")
    stop, counted = context.Event(), context.Value("i", 0)
    process = context.Process(target=knock, args=(to, rate, stop, counted))
    process.start()
    try:
        while counted.value == 0:
            time.sleep(0.05)
        yield counted
    finally:
        stop.set()
        process.join(30)


def asked(client: Client, count: int, pause: float) -> list[float]:
    """Seconds of the owner's question, several times."""
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        client.get("profiles")
        taken.append(time.perf_counter() - began)
        time.sleep(pause)
    return taken


@contextmanager
def prepared(contacts: int) -> Iterator[tuple[SupervisorProcess, str, list[SecretKey]]]:
    """A supervisor with an open door and everybody's keys; one agent keeps captures, the other one begins with each at once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        folder.chmod(0o755)
        to = f"http://127.0.0.1:{free_port()}"
        door = {"RUNNER_INGRESS__BIND": to.removeprefix("http://"), "RUNNER_POOL__SIZE": "1"}
        supervisor = SupervisorProcess(folder / "home", door)
        stack.callback(supervisor.stop)
        supervisor.start()
        names = json.dumps([f"friend-{number}" for number in range(contacts)])
        supervisor.publish(contacts=f" {names}", wake="false")
        supervisor.publish(AGENT, contacts=f" {names}")
        keys = [ed25519.make() for _ in range(contacts)]
        with Client(supervisor.state / "control.sock") as client:
            for number, key in enumerate(keys):
                client.post("contacts", body={"petname": f"friend-{number}", "key": key.public})
        yield supervisor, to, keys


def burst(supervisor: SupervisorProcess, to: str, keys: Sequence[SecretKey]) -> JsonObject:
    """One capture of each at once: how long until each has its receipt, and whether none is lost or there twice."""

    def send(number: int) -> str:
        outbox = Outbox(supervisor.home / f"sender{number}")
        body = json.dumps({"agent": "tester", "note": f"capture {number}"}).encode()
        with Courier(to, keys[number], ca=None, say=lambda _: None) as courier:
            return str(courier.send(body, agent="tester", outbox=outbox, key_file="k").capture)

    began = time.perf_counter()
    with ThreadPoolExecutor(16) as threads:
        sent = list(threads.map(send, range(len(keys))))
    seconds = time.perf_counter() - began
    with Client(supervisor.state / "control.sock") as client:
        kept: Any = client.get("captures")
    return {
        "captures": len(keys),
        "seconds": round(seconds, 2),
        "per_second": round(len(keys) / seconds, 1),
        "lost": len(set(sent) - {row["id"] for row in kept}),
        "twice": len(kept) - len(set(sent)),
    }


def measure(contacts: int) -> JsonObject:
    """Everything, once."""
    with prepared(contacts) as (supervisor, to, keys), Client(supervisor.state / "control.sock") as client:
        asked(client, 20, 0)
        idle = asked(client, QUESTIONS, SECONDS / QUESTIONS)
        process = psutil.Process(supervisor.process.pid if supervisor.process else None)
        with strangers(to, RATE) as counted:
            before, began, used = counted.value, time.perf_counter(), process.cpu_times().user
            loaded = asked(client, QUESTIONS, SECONDS / QUESTIONS)
            span = time.perf_counter() - began
            refused, used = counted.value - before, process.cpu_times().user - used
        taken = burst(supervisor, to, keys)
        ends = finished(supervisor, to, keys)
        status: Any = client.record("status")
    return {
        "refusals_per_second": round(refused / span, 1),
        "cpu_of_a_core": round(used / span, 2),
        "counted": status["ingress"]["refused"],
        "owner_idle_p50": round(statistics.median(idle), 5),
        "owner_loaded_p50": round(statistics.median(loaded), 5),
        "owner_loaded_p95": round(_p95(loaded), 5),
        "owner_p50_over_idle": round(statistics.median(loaded) / statistics.median(idle), 2),
        "owner_p95_over_idle": round(_p95(loaded) / _p95(idle), 2),
        "burst": taken,
        "finished": ends,
        "machine": machine(),
    }


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def show(result: Any) -> None:
    """For a person."""
    for name, value in result.items():
        if name not in {"machine", "burst", "finished"}:
            print(f"  {name:<44}{value!s:>12}")
    for part in ("burst", "finished"):
        for name, value in result[part].items():
            print(f"  {part} {name:<{43 - len(part)}}{value!s:>12}")
    rate, ratio = result["refusals_per_second"], result["owner_p50_over_idle"]
    wanted, slowest = GOALS["refusals_per_second"], GOALS["owner_p50_over_idle"]
    kept = {True: "kept", False: "NOT KEPT"}
    print(f"  goal refusals a second   {rate:>8.0f}, at least {wanted:.0f}: {kept[rate >= wanted * 0.98]}")
    print(f"  goal owner's question    {ratio:>8.2f} times idle, at most {slowest}: {kept[ratio <= slowest]}")
    ends = result["finished"]
    whole = ends["lost"] == ends["twice"] == ends["contacts_without_an_end"] == 0 and set(ends["ended_as"]) == {"replied"}
    print(f"  goal all finished, none lost: {kept[whole]}")
    for name, most in FAIR.items():
        print(f"  goal {name:<28}{ends[name]:>8}, at most {most}: {kept[ends[name] <= most]}")


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", nargs="?", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--contacts", type=int, default=CONTACTS, help="how many send at once")
    options = parser.parse_args()
    result = measure(options.contacts)
    options.result.parent.mkdir(parents=True, exist_ok=True)
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    show(result)


if __name__ == "__main__":
    main()
