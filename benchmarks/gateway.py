"""What the gateway adds: time to a reply's first byte, and to a long stream, beside the same requests straight to the upstream.

Upstream, gateway and client are each a process of its own, as they are in use. Straight and through the gateway take turns
within one run, so that the machine's mood falls on both. The client reads the socket as the CLI does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.run_latency import machine
from runner.gateway import SOCKET_NAME, Gateway, GatewayLimits, HttpUpstream, Reference
from tests.helpers.gateway import MODEL, OFFERED, Desk, a_request, request_bytes
from tests.helpers.upstream import Answer, UpstreamDouble, reply_events, sse, text

RESULT = Path(__file__).parent / "results/gateway.json"
#: sandbox.md §6.2: milliseconds added to the first byte, and the part of the throughput that may be lost.
GOALS = {"first_byte_p50": 3.0, "first_byte_p99": 15.0, "throughput_loss": 0.05}
#: A stream as a fast model makes one: so many pieces, so many characters each, so long between two.
PIECES, LETTERS, PAUSE = 1500, 24, 0.002
#: What the upstream is asked for, by the length of reply that is allowed.
SHORT, LONG, FLOOD = 100, 5000, 4000
LIMITS = GatewayLimits(burst=10**9, per_second=1e9)


class Paced(UpstreamDouble):
    """Answers at once with a short reply, a long stream at a steady pace, or the same stream as fast as it goes."""

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        body = await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
        wanted = json.loads(body)["max_tokens"]
        pieces, long = ["hello"] if wanted == SHORT else ["x" * LETTERS] * PIECES, wanted == LONG
        events = [sse(event) for event in reply_events(text("", pieces=pieces))]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        due = time.perf_counter()
        for event in events:
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            due += PAUSE if long else 0.0
            if long and (wait := due - time.perf_counter()) > 0:
                await writer.drain()
                await asyncio.sleep(wait)
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def upstream(ready: Connection) -> None:
    """The upstream's process."""

    async def main() -> None:
        async with Paced([Answer()]).serving() as double:
            ready.send(double.url)
            await asyncio.Event().wait()

    asyncio.run(main())


def gateway(ready: Connection, folder: str, url: str) -> None:
    """The gateway's process."""

    async def main() -> None:
        door = Gateway(
            directory=Path(folder),
            desk=Desk(),
            reference=Reference(model=MODEL, offered=OFFERED),
            upstream=HttpUpstream(url, key="sk-benchmark"),
            limits=LIMITS,
        )
        await door.start()
        ready.send("open")
        await asyncio.Event().wait()

    asyncio.run(main())


@contextlib.contextmanager
def running(target: Callable[..., None], *arguments: Any) -> Iterator[Any]:
    """A process, and what it says first."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


async def timed(place: str | tuple[str, int], body: bytes) -> tuple[float, float]:
    """Seconds from sending a request to the first event of its reply, and to its end."""
    data = request_bytes(body)
    reader, writer = await (asyncio.open_unix_connection(place) if isinstance(place, str) else asyncio.open_connection(*place))
    began = time.perf_counter()
    writer.write(data)
    await reader.readuntil(b"message_start")
    first = time.perf_counter() - began
    while not (chunk := await reader.read(65536)).endswith(b"0\r\n\r\n"):
        assert chunk, "the reply was cut"
    whole = time.perf_counter() - began
    writer.close()
    return first, whole


async def measure(folder: str, url: str, *, requests: int, streams: int) -> dict[str, Any]:
    """Everything, in turns."""
    host, _, port = url.removeprefix("http://").partition(":")
    places: dict[str, str | tuple[str, int]] = {"direct": (host, int(port)), "gateway": f"{folder}/{SOCKET_NAME}"}
    short, long, flood = (json.dumps(a_request(max_tokens=tokens)).encode() for tokens in (SHORT, LONG, FLOOD))
    firsts: dict[str, list[float]] = {name: [] for name in places}
    wholes: dict[str, list[float]] = {name: [] for name in places}
    floods: dict[str, list[float]] = {name: [] for name in places}
    for turn in range(requests + 20):
        for name, place in places.items():
            first, _ = await timed(place, short)
            if turn >= 20:
                firsts[name].append(first * 1000)
    for _ in range(streams):
        for name, place in places.items():
            wholes[name].append((await timed(place, long))[1])
            floods[name].append((await timed(place, flood))[1])
    added = {key: at(firsts["gateway"], part) - at(firsts["direct"], part) for key, part in (("p50", 50), ("p99", 99))}
    loss = 1 - statistics.median(wholes["direct"]) / statistics.median(wholes["gateway"])
    return {
        "first_byte_ms": {name: {"p50": at(found, 50), "p99": at(found, 99)} for name, found in firsts.items()},
        "first_byte_over_direct": at(firsts["gateway"], 50) / at(firsts["direct"], 50),
        "stream_seconds": {name: statistics.median(found) for name, found in wholes.items()},
        "events_per_second_at_most": {name: round(PIECES / min(found)) for name, found in floods.items()},
        "measured": {"first_byte_p50": added["p50"], "first_byte_p99": added["p99"], "throughput_loss": loss},
    }


def at(found: list[float], part: int) -> float:
    """A percentile."""
    return statistics.quantiles(found, n=100, method="inclusive")[part - 1]


def main() -> int:
    """Measure, print, write down; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="short requests, each way")
    parser.add_argument("--streams", type=int, default=5, help="long streams, each way")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(upstream) as url, running(gateway, folder, url):
        found = asyncio.run(measure(folder, url, requests=chosen.requests, streams=chosen.streams))
    measured = found["measured"]
    kept = {name: measured[name] <= goal for name, goal in GOALS.items()}
    for name, goal in GOALS.items():
        print(f"{name:18} {measured[name]:8.3f}   goal {goal:g}   {'kept' if kept[name] else 'MISSED'}")
    print(f"first byte is {found['first_byte_over_direct']:.1f} times the direct one, {found['first_byte_ms']}")
    print(f"events a second at the most: {found['events_per_second_at_most']}; a stream of the goal has {1 / PAUSE:.0f}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**found, "goals": GOALS, "kept": kept, "machine": machine()}, indent=2) + "\n")
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
