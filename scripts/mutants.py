"""Breaks `policy` and `paths` in every small way and names the breaks that no test notices (issue 4).

Tests are collected once; each mutant is a fork in which one function has other code. Survivors must be explained in
docs/mutants.md, each by its key; one that is not, or an explanation of one that no longer survives, fails the run.
"""

from __future__ import annotations

import importlib
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from hypothesis import Phase, settings

from scripts.mutations import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/mutants.md"
ROOMS = ("policy", "paths")
TESTS = (
    "tests/unit/policy",
    "tests/unit/paths",
    "tests/adversarial/test_call_shapes.py",
    "tests/adversarial/test_path_tricks.py",
    "tests/properties/test_policy_decide.py",
    "tests/properties/test_paths_containment.py",
)
#: Tables that are made by functions while their module is imported.
TABLES = {
    "runner.policy.file_tools": "FILE_TOOLS",
    "runner.policy.outside_tools": "OUTSIDE_TOOLS",
    "runner.policy.precedence": "TABLE",
}
JOBS = 2
EXAMPLES = 25
#: Processor time after which a mutant counts as noticed: it loops.
CPU_SECONDS = 15
#: Where hypothesis keeps a property's settings; decorating it a second time is refused.
_SETTINGS = "_hypothesis_internal_use_settings"
_OF_PATHS = re.compile(r"unit/paths/|/test_paths_\w+\.py")
_KEY = re.compile(r"^- `(.+)`", re.MULTILINE)


@dataclass(slots=True)
class Campaign:
    """A pytest plugin that runs the collected tests once per mutant; `only` narrows to keys that hold a text."""

    only: str = ""
    survivors: list[Mutant] = field(default_factory=list)
    done: int = 0
    healthy: bool = False
    killers: list[str] = field(default_factory=list)  #: node ids, the latest first

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of pytest's own loop."""
        for item in session.items:
            _shorten(item)
        self.healthy = self._wait({self._fork(session, None): None}) == [None]
        todo = iter(self._mutants() if self.healthy else ())
        running: dict[tuple[int, int], Mutant | None] = {}
        while True:
            while len(running) < JOBS and (mutant := next(todo, None)) is not None:
                running[self._fork(session, mutant)] = mutant
            if not running:
                return True
            for survivor in self._wait(running):
                if survivor is not None:
                    self.survivors.append(survivor)
                    _say(f"survived: {survivor.key}  (line {survivor.line})")

    def _mutants(self) -> Iterator[Mutant]:
        for room in ROOMS:
            for path in sorted((ROOT / "runner" / room).glob("*.py")):
                for mutant in mutants(f"runner.{room}.{path.stem}", path):
                    if self.only in mutant.key:
                        self.done += 1
                        yield mutant

    def _fork(self, session: pytest.Session, mutant: Mutant | None) -> tuple[int, int]:
        """Start a child; its id and the pipe on which it names the test that noticed."""
        reading, writing = os.pipe()
        child = os.fork()
        if child:
            os.close(writing)
            return child, reading
        os.close(reading)
        _quiet()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        if mutant is not None:
            put_in_place(mutant)
        killer = _first_failure(session, self.killers, spared=mutant is not None and ".policy." in mutant.module)
        os.write(writing, (killer or "-").encode())
        os._exit(0)

    def _wait(self, running: dict[tuple[int, int], Mutant | None]) -> list[Mutant | None]:
        """Wait for one child or more; the mutants that nothing noticed."""
        ready, _, _ = select.select([pipe for _, pipe in running], [], [])
        survived: list[Mutant | None] = []
        for child, pipe in [pair for pair in running if pair[1] in ready]:
            mutant = running.pop((child, pipe))
            said = os.read(pipe, 4096).decode()
            os.close(pipe)
            os.waitpid(child, 0)
            if said == "-":
                survived.append(mutant)
            elif said:  # nothing said: it looped, or brought the interpreter down
                self.killers = [said, *(name for name in self.killers if name != said)]
        return survived


def put_in_place(mutant: Mutant) -> None:
    """Give the live function the mutant's code, and forget what caches hold of the healthy one."""
    module = importlib.import_module(mutant.module)
    _live(module, mutant.function).__code__ = mutant.code
    if mutant.module in TABLES:
        _fill_again(module, TABLES[mutant.module], mutant)
    for name in [name for name in sys.modules if name.startswith("runner.")]:
        for thing in vars(sys.modules[name]).values():
            if callable(forget := getattr(thing, "cache_clear", None)):
                forget()


def _fill_again(module: ModuleType, table: str, mutant: Mutant) -> None:
    """Rows that were made while the module was imported take the values the mutant would have made."""
    broken = ModuleType(mutant.module)
    sys.modules[mutant.module] = broken  # a dataclass looks its module up while it is made
    exec(mutant.whole, vars(broken))  # noqa: S102 - our own source, broken by ourselves
    sys.modules[mutant.module] = module
    for old, new in zip(vars(module)[table], vars(broken)[table], strict=True):
        for one in fields(old):
            object.__setattr__(old, one.name, getattr(new, one.name))


def _live(module: ModuleType, qualified: str) -> FunctionType:
    head, _, rest = qualified.partition(".")
    thing: object = vars(module)[head]
    if rest:
        thing = vars(thing)[rest]
    for wrapper in ("fget", "__func__", "__wrapped__"):
        thing = getattr(thing, wrapper, thing)
    if not isinstance(thing, FunctionType):
        raise TypeError(qualified)
    return thing


def _first_failure(session: pytest.Session, first: list[str], *, spared: bool) -> str | None:
    """Run tests until one fails; those that lately noticed something come first.

    `spared`: leave out the tests of `paths`, which imports nothing of `policy` and so cannot notice a break there.
    """
    items = [item for item in session.items if not (spared and _OF_PATHS.search(item.nodeid))]
    by_id = {item.nodeid: item for item in items}
    order = [*(by_id[name] for name in first if name in by_id), *(item for item in items if item.nodeid not in first)]
    for item, after in zip(order, [*order[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.testsfailed:
            return item.nodeid
    return None


def _shorten(item: pytest.Item) -> None:
    """Fewer examples of a property: thousands of forks run it, and what only the hundredth finds is found by `make test`."""
    function = getattr(item, "obj", None)
    given = getattr(function, _SETTINGS, None)
    if given is not None:
        setattr(function, _SETTINGS, settings(given, max_examples=min(given.max_examples, EXAMPLES)))


def _quiet() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _say(line: str) -> None:
    sys.__stdout__.write(f"{line}\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def main(only: str = "") -> int:
    """Run all, or those whose key holds a text; 0 when every survivor is explained and nothing else is."""
    settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate)
    )
    campaign, started = Campaign(only=only), time.monotonic()
    options = (
        *("-q", "-s", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", f"--rootdir={ROOT}"),
        "-Wignore::pytest.PytestAssertRewriteWarning",  # hypothesis is imported already
    )
    pytest.main([*options, *(str(ROOT / test) for test in TESTS)], plugins=[campaign])
    if not campaign.healthy:
        _say("The tests fail without any break; nothing was tried.")
        return 1
    killed = campaign.done - len(campaign.survivors)
    _say(f"{killed} of {campaign.done} noticed ({killed / max(1, campaign.done):.1%}), {time.monotonic() - started:.0f} s")
    explained = {key for key in _KEY.findall(PAGE.read_text(encoding="utf-8")) if only in key} if PAGE.exists() else set()
    survived = {mutant.key for mutant in campaign.survivors}
    for key in sorted(survived - explained):
        _say(f"not explained: {key}")
    for key in sorted(explained - survived):
        _say(f"explained, though noticed: {key}")
    return 1 if survived != explained else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
