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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from campaigns import breaks, clocks, deciders
from campaigns.kills import CASES, Case, killed, points
from campaigns.stage import PROFILES, DiedError, Stage
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
    with staged(PROFILES) as stage:
        stage.supervisor.kill()
        for index, when in work:
            case = CASES[index]
            if time.monotonic() > until:
                found.append((row_of(case), f"{case.name}:{when}: no time left", Count(missed=1)))
                continue
            found.append(say((row_of(case), f"{case.name}:{when}", _killed(stage, case, when))))
    return found


def _killed(stage: Stage, case: Case, when: str) -> Count:
    """One kill; a machine too busy to start a supervisor in time is no reason to give the others up."""
    try:
        return killed(stage, case, when)
    except (AssertionError, DiedError) as error:
        print(f"    {case.name} {when}: {error}", file=sys.stderr)
        stage.end()
        return Count(faults=1, missed=1)


def containers() -> Found:
    """Containers that are killed."""
    with staged(("holder", "slow")) as stage:
        return [
            say((f"container killed, run {state}", state, breaks.container_killed(stage, state)))
            for state in breaks.CONTAINER_AT
        ]


def engines() -> Found:
    """An engine of the campaign's own that is restarted."""
    with own_engine() as engine:
        engine.load(LATEST)
        with staged(("holder", "parker"), DOCKER_HOST=engine.host) as stage:
            stage.engine = engine
            return [
                say((f"engine restarted, {state}", state, breaks.engine_restarted(stage, engine, state)))
                for state in breaks.ENGINE_AT
            ]


def stops() -> Found:
    """A supervisor that stands still for longer than a deadline."""
    with staged(("holder", "brief")) as stage:
        return [say((f"stopped and continued, {state}", state, breaks.frozen(stage, state))) for state in ("held", "executing")]


def disks() -> Found:
    """A disk without room for a decision."""
    with folder() as place:
        return [say(("disk full before a decision", "approve", breaks.disk_full(place)))]


def steps() -> Found:
    """A clock that is set."""
    with folder() as place:
        file = place.parent / "clock"
        with staged(("holder", "brief"), **clocks.environment(file)) as stage:
            return [say((f"clock set {name}", name, clocks.stepped(stage, file, name))) for name in clocks.STEPS]


def races(seed: int) -> Found:
    """Fifty people and one call."""
    with staged(("holder",)) as stage:
        found = (deciders.raced(stage, seed + number) for number in range(RACES))
        return [say((f"{deciders.DECIDERS} deciders on one call", str(number), one)) for number, one in enumerate(found)]


@contextmanager
def folder() -> Iterator[Path]:
    """A place for one home, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        Path(name).chmod(0o755)
        yield Path(name) / "home"


@contextmanager
def staged(agents: Collection[str], **environment: str) -> Iterator[Stage]:
    """A stage with a folder of its own; nothing of it is left."""
    with folder() as place:
        stage = Stage.built(place, agents=tuple(agents), environment=environment)
        try:
            yield stage
        finally:
            stage.end()


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
        jobs = [(name, pool.submit(work)) for name, work in OTHERS.items() if name in wanted]
        if "race" in wanted:
            jobs.append(("race", pool.submit(races, options.seed)))
        if "kill" in wanted:
            work = order(options.kills, options.seed)
            parts = options.workers * 2
            jobs += [("kill", pool.submit(kills, work[part::parts], until)) for part in range(parts)]
        return [one for name, job in jobs for one in _result(name, job)]


def _result(name: str, job: Future[Found]) -> Found:
    """What a worker found; one that could not go on has missed, and the others still count."""
    try:
        return job.result()
    except AssertionError as error:
        print(f"    {name} could not go on: {error}", file=sys.stderr)
        return [(f"{name}: could not go on", str(error), Count(missed=1))]


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
