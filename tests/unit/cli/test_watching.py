"""Progress: what is new at once, a word before the silence is long, and watching changes nothing (cli.md Output)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from runner.cli import follow
from runner.errors import SupervisorUnavailableError
from tests.helpers.fake_service import APPROVAL, RUN, FakeService, a_run, an_event
from tests.helpers.terminal import Terminal
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
REPLIED = {"state": "replied", "progress": "replied", "approvals": [], "reply": "ok"}
WAITS = f"waiting for a person: {APPROVAL}"


def said(ran: Ran) -> list[str]:
    """Progress without its clock."""
    return [line[9:] if line[5:7] == " s" else line for line in ran.err.splitlines()]


def test_watching_a_run_ends_with_it(run: Run, service: FakeService) -> None:
    service.later = [a_run(version=4, **REPLIED)]
    ran = run("watch", RUN[:8])
    assert (ran.code, ran.out) == (0, f"run {RUN} is done (replied)\n")
    assert said(ran) == [WAITS, f"  look and decide: runner approve {APPROVAL}", "replied"]


@pytest.mark.parametrize(("state", "code"), [("replied", 0), ("failed", 1), ("cancelled", 1)])
def test_the_exit_status_is_the_runs_only_when_asked_for(state: str, code: int, run: Run, service: FakeService) -> None:
    service.run_row = a_run(state=state, progress="", approvals=[])
    assert run("watch", RUN).code == 0
    assert run("watch", RUN, "--exit-status").code == code


def test_a_run_that_says_nothing_new_is_still_spoken_of(
    run: Run, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cli.md: never 5 s of silence; here every moment is a long silence, so that no clock decides."""
    longest = follow.STEP
    monkeypatch.setattr(follow, "STEP", 0.0)
    service.run_row = a_run(progress=WAITS)
    service.later = [a_run(progress=WAITS, version=version) for version in range(4, 40)] + [a_run(version=50, **REPLIED)]
    service.slow = 0.01
    lines = said(run("send", "scribe", "--note", "x", "--wait"))
    assert lines.count(WAITS) == 1
    assert f"still {WAITS}" in lines
    assert longest < 5


def test_a_wait_is_never_longer_than_the_silence_allows(run: Run, service: FakeService) -> None:
    """A change that brings no new word must not start the silence anew."""
    service.later = [a_run(progress="waiting for a person", version=4), a_run(version=5, **REPLIED)]
    run("watch", RUN)
    waits = [found[1] for name, found in service.asked if name == "wait_run"]  # type: ignore[index]
    assert len(waits) == 2
    assert follow.STEP >= waits[0] > waits[1]


def test_progress_as_json_lines_says_the_same(run: Run, service: FakeService) -> None:
    service.later = [a_run(version=4, **REPLIED)]
    ran = run("watch", RUN, "--json-lines")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.err == ""
    assert [(line["event"], line["id"], line["state"], line["approvals"]) for line in lines] == [
        ("change", RUN, "held", [APPROVAL]),
        ("change", RUN, "replied", []),
    ]
    assert all(line["seconds"] >= 0 for line in lines)


def test_watching_all_runs_ends_when_none_is_under_way(run: Run, service: FakeService) -> None:
    service.happening = [an_event(3, "approval.approve", "anna"), an_event(4, "run.release", "supervisor")]
    ended = a_run(version=9, **REPLIED)

    async def moves(ref: str) -> dict[str, object]:
        return ended if not service.happening else service.run_row

    service.run = moves  # type: ignore[method-assign, assignment]
    ran = run("watch")
    assert (ran.code, ran.out) == (0, f"run {RUN} is done (replied)\n")
    assert said(ran) == [
        f"{RUN} scribe: {WAITS}",
        f"  look and decide: runner approve {APPROVAL}",
        f"{RUN} scribe: replied",
    ]


def test_watching_nothing_says_so_at_once(run: Run, service: FakeService) -> None:
    service.run_row = a_run(state="replied", approvals=[])
    ran = run("watch")
    assert (ran.code, ran.out, ran.err) == (0, "", "no run is under way\n")


def test_ctrl_c_leaves_the_run_and_says_how_to_follow_it(service: FakeService) -> None:
    """cli.md: the run goes on; nothing was stopped or decided."""
    service.slow = 5.0
    process = subprocess.Popen(
        [sys.executable, "-m", "runner", "send", "scribe", "--note", "x", "--wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stderr is not None
    while "waiting for a person" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"run {RUN} goes on; runner watch {RUN} follows it" in rest.splitlines()
    assert service.decisions == ["send"]


def test_a_supervisor_that_goes_away_takes_no_run_along(run: Run, service: FakeService) -> None:
    async def gone(ref: str, *, version: int, seconds: float) -> dict[str, object]:
        raise SupervisorUnavailableError("cannot reach the supervisor: it hung up")

    service.wait_run = gone  # type: ignore[method-assign, assignment]
    ran = run("watch", RUN)
    assert ran.code == 9
    assert ran.err.splitlines()[-1] == (f"hint: run {RUN} goes on with the next supervisor: runner up, then runner watch {RUN}")


def test_on_a_terminal_the_clock_ticks_in_one_place(service: FakeService) -> None:
    """The line that says nothing new is drawn over itself, and gone when there is news."""
    service.later = [a_run(progress=WAITS, version=version) for version in range(4, 30)]
    service.run_row = a_run(progress=WAITS)
    with Terminal("watch", RUN) as terminal:
        terminal.wait_for("still waiting")
        service.run_row = a_run(version=90, **REPLIED)
        assert terminal.end() == 0
        assert "\r\x1b[2K" in terminal.text
        after = terminal.text.rsplit("\r\x1b[2K", 1)[1]
        assert after.splitlines()[-1].startswith(f"run {RUN} is done")
        assert "\n" not in terminal.text.rsplit("\r\x1b[2K", 1)[0].rsplit("still", 1)[1]
