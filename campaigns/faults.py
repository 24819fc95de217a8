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
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from campaigns import breaks, clocks, deciders
from campaigns.forked import ForkedSupervisor
from campaigns.kills import CASES, Case, killed, points
from campaigns.playing import NOT_TRIED, Found, Play, played
from campaigns.report import Report
from campaigns.stage import PROFILES, Stage
from campaigns.tally import Count, table
from campaigns.waiting import POINTS, pool_killed
from runner.sandbox.image import LATEST
from tests.helpers.own_engine import own_engine
from tests.helpers.supervisor_process import SupervisorProcess

ROOT = Path(__file__).parents[1]
KILLS = 200
WORKERS = 3
RACES = 3


def row_of(case: Case) -> str:
    """The row a kill belongs to."""
    kind = case.event.split(".")[0]
    return "kill: beside the arrows" if case.state is None else f"kill: {kind} {case.state}"


def name_of(index: int, when: str) -> str:
    """What a kill is called in its row."""
    return f"{CASES[index].name}:{when}"


def order(kills: int, seed: int, cases: Sequence[str] | None = None) -> list[tuple[int, str]]:
    """Every failpoint once, then again in another order until there are enough kills; of some cases only, just so many."""
    every = [(CASES.index(case), when) for case, when in points() if not cases or case.name.startswith(tuple(cases))]
    draw = random.Random(seed)
    chosen: list[tuple[int, str]] = []
    while every and sum(1 + (CASES[index].first is not None) for index, _ in chosen) < kills:
        chosen += draw.sample(every, len(every))
    return _cut(chosen, kills, least=0 if cases else len(every))


def _cut(chosen: Sequence[tuple[int, str]], kills: int, *, least: int) -> list[tuple[int, str]]:
    kept: list[tuple[int, str]] = []
    done = 0
    for index, when in chosen:
        if done >= kills and len(kept) >= least:
            break
        kept.append((index, when))
        done += 1 + (CASES[index].first is not None)
    return kept


def kills(play: Play, *, chosen: Sequence[tuple[int, str]]) -> None:
    """A worker's share of the kills, on a home of its own: the next one that no other has taken."""
    with staged(PROFILES, process=ForkedSupervisor) as stage:
        stage.supervisor.kill()
        while not play.over and (number := play.take()) < len(chosen):
            index, when = chosen[number]
            case = CASES[index]
            if not play.fault(row_of(case), name_of(index, when), partial(killed, stage, case, when)):
                stage.end()


def containers(play: Play) -> None:
    """Containers that are killed."""
    with staged(("holder", "slow")) as stage:
        for state in breaks.CONTAINER_AT:
            play.fault(f"container killed, run {state}", state, partial(breaks.container_killed, stage, state))


def engines(play: Play) -> None:
    """An engine of the campaign's own that is restarted."""
    with own_engine() as engine:
        engine.load(LATEST)
        with staged(("holder", "parker"), DOCKER_HOST=engine.host) as stage:
            stage.engine = engine
            for state in breaks.ENGINE_AT:
                play.fault(f"engine restarted, {state}", state, partial(breaks.engine_restarted, stage, engine, state))


def stops(play: Play) -> None:
    """A supervisor that stands still for longer than a deadline."""
    with staged(("holder", "brief")) as stage:
        for state in ("held", "executing"):
            play.fault(f"stopped and continued, {state}", state, partial(breaks.frozen, stage, state))
    with staged(("holder",), RUNNER_HOST=json.dumps({"lease": breaks.LEASE})) as stage:
        play.fault("stopped and continued, lease lost", "held", partial(breaks.replaced, stage))


def pools(play: Play) -> None:
    """Kills where a waiting container is made, claimed and dropped."""
    with staged(("holder",), process=ForkedSupervisor) as stage:
        stage.supervisor.kill()
        for point in POINTS:
            play.fault(f"kill: {point.partition(':')[0]}", point, partial(pool_killed, stage, point))


def disks(play: Play) -> None:
    """A disk without room for a decision."""
    with folder() as place:
        play.fault("disk full before a decision", "approve", partial(breaks.disk_full, place))


def steps(play: Play) -> None:
    """A clock that is set."""
    with folder() as place:
        file = place.parent / "clock"
        with staged(("holder", "brief"), **clocks.environment(file)) as stage:
            for name in clocks.STEPS:
                play.fault(f"clock set {name}", name, partial(clocks.stepped, stage, file, name))


def races(play: Play, *, seed: int) -> None:
    """Fifty people and one call."""
    with staged(("holder",)) as stage:
        for number in range(RACES):
            play.fault(f"{deciders.DECIDERS} deciders on one call", str(number), partial(deciders.raced, stage, seed + number))


@contextmanager
def folder() -> Iterator[Path]:
    """A place for one home, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        Path(name).chmod(0o755)
        yield Path(name) / "home"


@contextmanager
def staged(
    agents: Collection[str], process: type[SupervisorProcess] = SupervisorProcess, **environment: str
) -> Iterator[Stage]:
    """A stage with a folder of its own; nothing of it is left."""
    with folder() as place:
        stage = Stage.built(place, agents=tuple(agents), environment=environment, process=process)
        try:
            yield stage
        finally:
            stage.end()


def gathered(found: Found) -> dict[str, Count]:
    """The table's rows."""
    rows: dict[str, Count] = {}
    for kind, _, count in sorted(found, key=lambda one: one[0]):
        rows.setdefault(kind, Count()).add(count)
    return rows


OTHERS: Mapping[str, Callable[[Play], None]] = {
    "engine": engines,
    "pool": pools,
    "stop": stops,
    "clock": steps,
    "container": containers,
    "disk": disks,
}


def campaign(options: argparse.Namespace, record: Path) -> Found:
    """Play what was asked for, several at a time; each worker ends what it started."""
    wanted = set(options.only or ["kill", "race", *OTHERS])
    chosen = order(options.kills, options.seed, cases=options.case) if "kill" in wanted else []
    share: tuple[str, Callable[..., None], Mapping[str, Any]] = ("kill", kills, {"chosen": chosen})
    jobs: list[tuple[str, Callable[..., None], Mapping[str, Any]]] = [
        (name, work, {}) for name, work in OTHERS.items() if name in wanted
    ]
    jobs += [("race", races, {"seed": options.seed})] if "race" in wanted else []
    if chosen:  # the longest first; every worker that has nothing else to do kills
        ahead = max(options.workers - 2, 1)
        jobs = [*jobs[:1], *[share] * ahead, *jobs[1:], *[share] * (options.workers - ahead)]
    found, taken = played(jobs, record=record, minutes=options.minutes, workers=options.workers)
    left = chosen[taken:]
    return found + [(row_of(CASES[index]), f"{name_of(index, when)}: {NOT_TRIED}", Count(missed=1)) for index, when in left]


def main() -> int:
    """Print the table; 1 when anything was lost, doubled or left, or a fault did not come about."""
    options = arguments().parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        found = campaign(options, Path(place) / "record")
    rows = gathered(found)
    report = Report(rows=rows, found=found, seed=options.seed, minutes=(time.monotonic() - began) / 60, workers=options.workers)
    print(f"\nseed {options.seed}\n{table(rows)}\n{report.kills} kills in {report.minutes:.1f} minutes", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report.document(), indent=2) + "\n")
    if options.write_docs:
        page = ROOT / "docs" / "faults.md"
        page.write_text(report.into(page.read_text()))
    return 0 if all(count.clean for count in rows.values()) else 1


def arguments() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=KILLS, help="at least so many; every failpoint once in any case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--minutes", type=float, default=60.0, help="no further fault begins after these")
    parser.add_argument("--only", action="append", choices=["kill", "race", *OTHERS], help="this kind alone; may be repeated")
    parser.add_argument("--case", action="append", help="only kills whose name begins so, as in 'run.hold'; may be repeated")
    parser.add_argument("--json", type=Path, help="where the counts go, each failpoint by itself")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/faults.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
