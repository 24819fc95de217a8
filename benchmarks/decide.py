"""What a decision costs: the pure function with and without a path to prove, and a hook from the CLI's question to its answer.

The hook is asked of a real desk on a real database, in alternation with a gate that answers at once, over the same SDK and the
same kind of stream; the difference is what deciding costs. Bounds are issue 4's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runner.digest import parse_call
from runner.model import Limits, Policy, Verdict
from runner.policy import PolicyContext, decide
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView
from tests.helpers.agent_gate import RecordingGate, conversation
from tests.helpers.agent_stream import FakeCli
from tests.helpers.builders import a_profile
from tests.unit.supervisor.world import World, a_turn, arguments_of, play, read

RESULT = Path(__file__).parent / "results/decide.json"
ROUNDS = 3000
HOOKS = 300
#: p99 in milliseconds (issue 4 item 7).
BOUNDS = {"decide": 0.2, "decide, 10 components": 0.5, "hook, desk": 5.0}
DEEP = "/".join("abcdefghi") + "/in.txt"


def pure(folder: Path) -> dict[str, list[float]]:
    """Seconds of single decisions in alternation; this thread's own seconds, so that a busy machine counts for nothing."""
    target = folder / DEEP
    target.parent.mkdir(parents=True)
    target.write_text("x")
    profile = a_profile(cwd=folder, policy=Policy.READ_ONLY)
    calls = {
        "decide": parse_call("Grep", '{"pattern": "x", "output_mode": "content"}'),
        "decide, 10 components": parse_call("Read", json.dumps({"file_path": DEEP})),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    with Beneath.open(folder) as beneath:
        context = PolicyContext(view=SnapshotView(beneath))
        for _ in range(ROUNDS):
            for name, call in calls.items():
                began = time.thread_time()
                decision = decide(call, profile, context)
                seconds[name].append(time.thread_time() - began)
                if decision.verdict is not Verdict.ALLOW:
                    raise RuntimeError(decision.reason)
    return seconds


def hooks(folder: Path) -> dict[str, list[float]]:
    """Seconds from the CLI's question to its answer, desk and empty gate in alternation."""
    seconds: dict[str, list[float]] = {"hook, desk": [], "hook, at once": []}

    async def scene(world: World) -> None:
        desk = world.desk(world.a_running())
        idle, done = asyncio.Event(), asyncio.Event()
        other: list[FakeCli] = []

        async def at_once(cli: FakeCli) -> None:
            other.append(cli)
            idle.set()
            await done.wait()
            cli.finish()

        async def measured(cli: FakeCli) -> None:
            await idle.wait()
            for _ in range(HOOKS):
                call = read("in.txt")
                await desk.take_turn(a_turn(call))
                for name, asked in (("hook, desk", cli), ("hook, at once", other[0])):
                    began = time.perf_counter()
                    answer = await asked.hook("Read", dict(arguments_of(call)))
                    seconds[name].append(time.perf_counter() - began)
                    check(answer)
            done.set()
            cli.finish()

        profile = world.profile
        await asyncio.gather(
            conversation(FakeCli(at_once, profile=profile), RecordingGate(), profile=profile),
            conversation(FakeCli(measured, profile=profile), desk, profile=profile),
        )

    play(folder, scene, limits=Limits(calls=HOOKS * 2, turns=HOOKS * 2, budget_tokens=10**9))
    return seconds


def check(answer: Any) -> None:
    """A hook that says no would be faster and mean nothing."""
    if answer["response"]["hookSpecificOutput"]["permissionDecision"] != "ask":
        raise RuntimeError(str(answer))


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50": round(cuts[49] * 1e3, 4), "p99": round(cuts[98] * 1e3, 4)}


def in_a_folder(work: Callable[[Path], dict[str, list[float]]]) -> dict[str, list[float]]:
    """Work on a directory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return work(Path(folder))


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", nargs="?", type=Path, default=RESULT, help="where the JSON goes")
    options = parser.parse_args()
    found = {name: quantiles(values) for name, values in (in_a_folder(pure) | in_a_folder(hooks)).items()}
    options.result.parent.mkdir(parents=True, exist_ok=True)
    options.result.write_text(json.dumps({"milliseconds": found, "bounds": BOUNDS}, indent=2) + "\n")
    for name, value in found.items():
        bound = BOUNDS.get(name)
        kept = "" if bound is None else f"   bound {bound} ms: {'kept' if value['p99'] <= bound else 'NOT KEPT'}"
        print(f"{name:<24}{value['p50']:>9.3f} ms p50{value['p99']:>9.3f} ms p99{kept}")
    print(f"deciding adds {found['hook, desk']['p50'] - found['hook, at once']['p50']:.3f} ms to a hook (p50)")


if __name__ == "__main__":
    main()
