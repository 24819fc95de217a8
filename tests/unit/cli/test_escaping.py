"""`runner doctor --escape`: how many got out, never that nothing can (issue 7 item 2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from runner.settings import Settings
from runner.supervisor.escape import Result, Verdict, escape_scripts, host
from runner.supervisor.escape.neighbour import Measure
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]

SCRIPTS = escape_scripts()


def results(*verdicts: Verdict) -> tuple[Result, ...]:
    measure = Measure(seconds=1.0, latency=0.002, stall=0.1, memory=3, handles=1)
    return tuple(
        Result(
            script=script,
            verdict=verdict,
            found=() if verdict is Verdict.HELD else (f"\x1b[2Jfound by {script.id}",),
            measure=measure,
            calm=replace(measure, latency=0.001, stall=0.02),
        )
        for script, verdict in zip(SCRIPTS, verdicts, strict=False)
    )


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def set_to(*verdicts: Verdict) -> None:
        async def try_host(_settings: Settings, *, progress: Callable[[Result], None]) -> tuple[Result, ...]:
            found = results(*verdicts)
            for result in found:
                progress(result)
            return found

        monkeypatch.setattr(host, "try_host", try_host)

    return set_to


HELD, OUT, VOID = Verdict.HELD, Verdict.OUT, Verdict.VOID


@pytest.mark.parametrize(
    ("verdicts", "code", "last"),
    [
        ((HELD, HELD, HELD), 0, "0 of 3 got out"),
        ((HELD, OUT, OUT), 1, "2 of 3 got out"),
        ((HELD, VOID, HELD), 0, "0 of 3 got out; 1 could not be tried here"),
    ],
)
def test_the_last_line_says_how_many_got_out(
    run: Run, suite: Callable[..., None], verdicts: tuple[Verdict, ...], code: int, last: str
) -> None:
    suite(*verdicts)
    ran = run("doctor", "--escape")
    assert (ran.code, ran.out.splitlines()[-1]) == (code, last)
    assert "another run's answer took 2.0 ms (1.0 beside nothing)" in ran.out
    assert "nothing waited longer than 100 ms for its turn (20); at most 3 MiB and 1 handles" in ran.out
    assert "safe" not in ran.out
    assert "\x1b[2J" not in ran.out + ran.err


def test_as_json_each_script_says_what_it_tried_and_what_became_of_it(run: Run, suite: Callable[..., None]) -> None:
    suite(HELD, OUT)
    ran = run("doctor", "--escape", "--json")
    said = json.loads(ran.out)
    assert (ran.code, said["ok"], said["out"], said["untried"], said["of"]) == (1, False, 1, 0, 2)
    assert [row["verdict"] for row in said["scripts"]] == ["held", "out"]
    assert set(said["scripts"][0]) == {"id", "class", "tries", "must", "verdict", "found", "measure", "calm", "note"}
