"""`make faults`: everything that is done to a supervisor, counted. The table must be all zeros but for the faults themselves.

A kind is a row of the table. Kills are spread over every failpoint and repeated until there are `--kills` of them, in an order
that the seed says. JSON goes to a file where one is named.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from campaigns import breaks, clocks, deciders
from campaigns.kills import CASES, Case, killed, points
from campaigns.stage import Stage
from campaigns.tally import Count, document, table
from runner.sandbox.image import LATEST
from tests.helpers.own_engine import own_engine

KILLS = 200
WORKERS = 3
RACES = 3
Found = list[tuple[str, str, Count]]  #: kind, what exactly, what came of it


def row_of(case: Case) -> str:
    """The row a kill belongs to."""
    kind = case.event.split(".")[0]
    return "kill: beside the arrows" if case.state is None else f"kill: {kind} {case.state}"


def order(kills: int, seed: int) -> list[tuple[int, str]]:
    """Every failpoint once, then again in another order until there are enough kills."""
    every = [(CASES.index(case), when) for case, when in points()]
    draw = random.Random(seed)
    chosen: list[tuple[int, str]] = []
    while sum(1 + (CASES[index].first is not None) for index, _ in chosen) < kills:
        chosen += draw.sample(every, len(every))
    return _cut(chosen, kills, least=len(every))


def _cut(chosen: Sequence[tuple[int, str]], kills: int, *, least: int) -> list[tuple[int, str]]:
    kept: list[tuple[int, str]] = []
    done = 0
    for index, when in chosen:
        if done >= kills and len(kept) >= least:
            break
        kept.append((index, when))
        done += 1 + (CASES[index].first is not None)
    return kept


def kills(work: Sequence[tuple[int, str]], until: float) -> Found:
    """A worker's share of the kills, on a home of its own."""
    found: Found = []
    with home() as folder:
        stage = Stage.built(folder)
        stage.supervisor.kill()
        for index, when in work:
            if time.monotonic() > until:
                found.append((row_of(CASES[index]), f"{CASES[index].name}:{when}: no time left", Count(missed=1)))
                continue
            found.append((row_of(CASES[index]), f"{CASES[index].name}:{when}", killed(stage, CASES[index], when)))
            say(found[-1])
    return found


def containers() -> Found:
    """Containers that are killed."""
    with home() as folder:
        stage = Stage.built(folder, agents=("holder", "slow"))
        return [
            say((f"container killed, run {state}", state, breaks.container_killed(stage, state)))
            for state in breaks.CONTAINER_AT
        ]


def engines() -> Found:
    """An engine of the campaign's own that is restarted."""
    with own_engine() as engine, home() as folder:
        engine.load(LATEST)
        stage = Stage.built(folder, agents=("holder", "parker"), environment={"DOCKER_HOST": engine.host})
        stage.engine = engine
        return [
            say((f"engine restarted, {state}", state, breaks.engine_restarted(stage, engine, state)))
            for state in breaks.ENGINE_AT
        ]


def stops() -> Found:
    """A supervisor that stands still for longer than a deadline."""
    with home() as folder:
        stage = Stage.built(folder, agents=("holder", "brief"))
        return [say((f"stopped and continued, {state}", state, breaks.frozen(stage, state))) for state in ("held", "executing")]


def disks() -> Found:
    """A disk without room for a decision."""
    with home() as folder:
        return [say(("disk full before a decision", "approve", breaks.disk_full(folder)))]


def steps() -> Found:
    """A clock that is set."""
    with home() as folder:
        file = folder.parent / "clock"
        stage = Stage.built(folder, agents=("holder", "brief"), environment=clocks.environment(file))
        return [say((f"clock set {name}", name, clocks.stepped(stage, file, name))) for name in clocks.STEPS]


def races(seed: int) -> Found:
    """Fifty people and one call."""
    with home() as folder:
        stage = Stage.built(folder, agents=("holder",))
        found = (deciders.raced(stage, seed + number) for number in range(RACES))
        return [say((f"{deciders.DECIDERS} deciders on one call", str(number), one)) for number, one in enumerate(found)]


class home:  # noqa: N801 -- used as a function
    """A folder for one stage, gone afterwards."""

    def __enter__(self) -> Path:
        self._folder = tempfile.TemporaryDirectory(prefix="faults-")
        place = Path(self._folder.name)
        place.chmod(0o755)
        return place / "home"

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def say(one: tuple[str, str, Count]) -> tuple[str, str, Count]:
    """A line as it comes."""
    kind, what, count = one
    print(f"  {kind:34} {what:44} {'ok' if count.clean else count}", flush=True)
    return one


def gathered(found: Found) -> dict[str, Count]:
    """The table's rows."""
    rows: dict[str, Count] = {}
    for kind, _, count in sorted(found, key=lambda one: one[0]):
        rows.setdefault(kind, Count()).add(count)
    return rows


OTHERS: Mapping[str, Callable[[], Found]] = {
    "container": containers,
    "engine": engines,
    "stop": stops,
    "disk": disks,
    "clock": steps,
}


def campaign(options: argparse.Namespace) -> Found:
    """Play what was asked for, several at a time; each worker ends what it started."""
    until = time.monotonic() + options.minutes * 60
    wanted = set(options.only or ["kill", "race", *OTHERS])
    with ProcessPoolExecutor(max_workers=options.workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(work) for name, work in OTHERS.items() if name in wanted]
        if "race" in wanted:
            jobs.append(pool.submit(races, options.seed))
        if "kill" in wanted:
            work = order(options.kills, options.seed)
            jobs += [pool.submit(kills, work[part :: options.workers * 2], until) for part in range(options.workers * 2)]
        return [one for job in jobs for one in job.result()]


def main() -> int:
    """Print the table; 1 when anything was lost, doubled or left, or a fault did not come about."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=KILLS, help="at least so many; every failpoint once in any case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--minutes", type=float, default=60.0, help="no further kill begins after these")
    parser.add_argument("--only", action="append", choices=["kill", "race", *OTHERS], help="this kind alone; may be repeated")
    parser.add_argument("--json", type=Path, help="where the counts go, each failpoint by itself")
    options = parser.parse_args()
    found = campaign(options)
    rows = gathered(found)
    print(f"\nseed {options.seed}\n{table(rows)}")
    if options.json is not None:
        each: dict[str, Count] = {}
        for kind, what, count in found:
            each.setdefault(f"{kind} / {what}", Count()).add(count)
        text = json.dumps({"seed": options.seed, "rows": document(rows), "each": document(each)}, indent=2)
        options.json.write_text(text + "\n")
    return 0 if all(count.clean for count in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
