"""What a list of 1,000 pending calls costs: all of them in one answer of the supervisor, and its default first hundred (K4).

Each is a ratio as well, to the smallest question the same supervisor answers.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.approvals import park
from benchmarks.run_latency import machine
from runner.api.client import Client
from runner.store import Store
from tests.helpers.stored import url
from tests.helpers.supervisor_process import SupervisorProcess

RESULT = Path(__file__).parent / "results/listing.json"
PENDING = 1000
ROUNDS = 40
#: K4: seconds in which 95 of 100 lists are there.
GOAL = 0.2


def measured(ask: Callable[[], object]) -> dict[str, float]:
    """Median and 95th percentile of many answers, in seconds."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - began)
    ordered = sorted(taken)
    return {"p50": round(statistics.median(ordered), 5), "p95": round(ordered[math.ceil(ROUNDS * 0.95) - 1], 5)}


def measure(folder: Path) -> dict[str, Any]:
    """A supervisor with so many pending calls, asked for them."""
    supervisor = SupervisorProcess(folder / "home")
    supervisor.start()
    supervisor.stop()
    store = Store(url(supervisor.state / "runner.db"))
    store.open()
    park(store, PENDING)
    store.close()
    supervisor.start()
    try:
        with Client(supervisor.state / "control.sock") as client:
            found: Any = client.get("approvals", limit=PENDING)
            assert len(found["approvals"]) == PENDING
            whole = measured(lambda: client.get("approvals", limit=PENDING))
            first = measured(lambda: client.get("approvals", limit=100))
            smallest = measured(lambda: client.get("approvals", limit=1))
    finally:
        supervisor.stop()
    ratio = round(whole["p50"] / smallest["p50"], 1)
    return {"machine": machine(), "pending": PENDING, "all": whole, "first_100": first, "one": smallest, "all_over_one": ratio}


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", nargs="?", type=Path, default=RESULT, help="where the JSON goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        result = measure(Path(folder))
    options.result.parent.mkdir(parents=True, exist_ok=True)
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    for name in ("all", "first_100", "one"):
        print(f"  {name:<12}{result[name]['p50'] * 1000:>8.1f} ms p50{result[name]['p95'] * 1000:>8.1f} ms p95")
    p95 = result["all"]["p95"]
    print(f"  goal: {PENDING} pending in {GOAL * 1000:.0f} ms p95: {'kept' if p95 <= GOAL else 'NOT KEPT'}")


if __name__ == "__main__":
    main()
