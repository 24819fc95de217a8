"""The escape suite as data: what it has scripts for, and how they are judged."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runner.supervisor.escape import escape_scripts
from runner.supervisor.escape.judge import Heard, Verdict, costs, result_of, told
from runner.supervisor.escape.neighbour import Measure, usual
from runner.supervisor.escape.run import ALONE
from runner.supervisor.escape.scene import Scene
from runner.supervisor.escape.scripts import Ends
from runner.supervisor.escape.standins import UNASKED

SCRIPTS = {script.id: script for script in escape_scripts()}
DONE, KILLED, CUT = SCRIPTS["01-kernel-settings"], SCRIPTS["26-memory"], SCRIPTS["42-hook-flood"]
#: Issue 7 item 2 by its words → a script of it.
WANTED = {
    "procfs": "01-kernel-settings",
    "sysfs": "07-sysfs-writes",
    "devices": "10-devices",
    "keyrings": "11-keyrings",
    "host sockets": "12-host-sockets",
    "abstract sockets": "13-abstract-sockets",
    "core dumps": "17-core-dumps",
    "cgroup release agent": "08-release-agent",
    "x32": "18-foreign-calls-x32",
    "i386": "19-foreign-calls-i386",
    "mounts": "20-mounts",
    "ptrace": "22-other-memory",
    "fork bombs": "25-fork-bomb",
    "memory": "26-memory",
    "disk": "27-scratch",
    "inodes": "28-inodes",
    "log flood": "40-log-flood",
    "stdin and stdout": "36-its-own-stdio",
    "mount targets": "32-mount-targets",
    "proc self root": "05-magic-links",
    "the gateway's socket": "34-gateway-requests",
    "planted": "31-planted",
    "control-protocol floods": "42-hook-flood",
    "bare tool messages": "45-bare-tool-messages",
    "valid requests that are heavy": "47-heavy-bodies",
    "connection floods": "48-connection-floods",
}


def test_there_are_scripts_for_every_class_and_each_says_what_it_tries() -> None:
    assert len(SCRIPTS) >= 30
    assert set(WANTED.values()) - set(SCRIPTS) == set()
    assert [script.id for script in SCRIPTS.values() if not (script.kind and script.tries and script.must)] == []
    assert len({script.tries for script in SCRIPTS.values()}) == len(SCRIPTS)


def test_a_script_is_told_of_the_host_as_arguments() -> None:
    assert DONE.argv(("a", "1"))[:2] == ("sh", "-c")
    assert DONE.argv(("a", "1"))[3:] == (DONE.id, "a", "1")
    assert KILLED.argv(("a", "1"))[:2] == ("perl", "-e")
    assert Scene(Path("/nowhere"), uid=1, model="m").words[-1] == "m"
    assert "sub out" in KILLED.text


def heard(text: str = "", *, ended: bool = True, note: str = "") -> Heard:
    return Heard(text=text.encode(), ended=ended, note=note)


@pytest.mark.parametrize(
    ("script", "said", "found"),
    [
        (DONE, heard("DONE\n"), []),
        (DONE, heard("OUT wrote it\nDONE\n"), ["wrote it"]),
        (DONE, heard("x secret-token y\nDONE\n"), ["the host's secret was read"]),
        (DONE, heard("sh: not found\n"), ["it did not come to its end, and so shows nothing"]),
        (DONE, heard("DONE\n", ended=False), ["it had not ended after 25 seconds"]),
        (KILLED, heard(""), []),
        (KILLED, heard("DONE\n"), ["it was not stopped"]),
        (CUT, heard(note="cannot go on: per_second; 3 calls heard"), []),
        (CUT, heard(note=f"{UNASKED}: it said: eof"), ["it was not asked anything, and so shows nothing"]),
    ],
)
def test_a_script_is_judged_by_its_words_and_its_end(script: object, said: Heard, found: list[str]) -> None:
    assert told(script, said, token="secret-token") == found  # type: ignore[arg-type]


def test_what_tried_nothing_is_void_and_one_fault_is_out() -> None:
    assert result_of(DONE, heard("DONE\n"), faults=(), measure=None).verdict is Verdict.HELD
    void = result_of(DONE, heard("VOID not x86_64\nDONE\n"), faults=(), measure=None)
    assert (void.verdict, void.found) == (Verdict.VOID, ("not x86_64",))
    assert result_of(DONE, heard("VOID x\n"), faults=("process 1 is left",), measure=None).verdict is Verdict.OUT


CALM = Measure(seconds=1.0, latency=0.01, stall=0.03, memory=0, handles=3)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"latency": 0.6}, ["another run was 60 times slower"]),
        ({"stall": 1.8}, ["nothing else got its turn for 1.8 seconds, 60 times as long as beside nothing"]),
        ({"memory": 200}, ["the supervisor grew by 200 MiB"]),
        ({"handles": 100}, ["the supervisor held 100 more handles"]),
    ],
)
def test_a_flood_may_not_cost_the_others_much_more_than_a_script_that_does_nothing(
    changes: dict[str, float], told: list[str]
) -> None:
    """M1, M6: compared with the same run's own calm, so that no figure depends on the machine."""
    fine = {"seconds": 10.0, "latency": 0.05, "stall": 0.2, "memory": 30, "handles": 40}
    assert costs(CUT, Measure(**{**fine, **changes}), calm=CALM) == told  # type: ignore[arg-type]
    assert costs(CUT, None, calm=CALM) == []


def test_a_body_at_the_gateway_may_cost_what_one_of_the_greatest_size_does_and_no_more() -> None:
    """M6."""
    body = Measure(seconds=6.0, latency=0.01, stall=0.1, memory=150, handles=9)
    assert costs(SCRIPTS["47-heavy-bodies"], body, calm=CALM) == []
    assert costs(SCRIPTS["47-heavy-bodies"], replace(body, memory=300), calm=CALM) == ["the supervisor grew by 300 MiB"]


def test_the_usual_is_no_single_bad_moment() -> None:
    bad = replace(CALM, stall=0.9, latency=0.5, memory=40)
    assert usual([CALM, bad, CALM]) == CALM


def test_on_ones_own_host_a_stall_that_a_person_notices_is_too_long_by_itself() -> None:
    busy = Measure(seconds=1.0, latency=0.5, stall=1.0, memory=0, handles=3)
    flood = Measure(seconds=9.0, latency=0.5, stall=3.0, memory=0, handles=3)
    assert costs(CUT, flood, calm=busy) == []
    assert len(costs(CUT, flood, calm=busy, noticed=2.0)) == 1


def test_what_is_too_short_to_tell_is_no_yardstick() -> None:
    still = Measure(seconds=1.0, latency=0.0001, stall=0.0001, memory=0, handles=0)
    assert costs(CUT, Measure(seconds=1.0, latency=0.05, stall=0.2, memory=0, handles=0), calm=still) == []


def test_only_a_script_whose_requests_are_valid_may_ask_the_model() -> None:
    assert [script.id for script in SCRIPTS.values() if script.asks] == ["47-heavy-bodies"]


def test_every_kind_that_floods_is_measured_beside_a_neighbour() -> None:
    """Issue 7 item 2: the gateway's floods too."""
    floods = {
        script.kind for script in SCRIPTS.values() if "flood" in script.id or script.id in {"47-heavy-bodies", "26-memory"}
    }
    assert floods <= ALONE
    assert "gateway" in floods


def test_only_what_floods_is_cut_and_only_memory_is_killed() -> None:
    assert {script.language for script in SCRIPTS.values() if script.ends is Ends.CUT} == {"agent.pl"}
    assert [script.id for script in SCRIPTS.values() if script.ends is Ends.KILLED] == ["26-memory"]


def visit(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(str(folder / "agent/door.sock"))


@pytest.mark.parametrize(
    ("act", "found"),
    [
        (lambda _: None, []),
        (lambda folder: (folder / "outside/secret.txt").write_text("x"), ["agent/ has changed", "outside/ has changed"]),
        (lambda folder: (folder / "snapshot/in.txt").chmod(0o777), ["snapshot/ has changed"]),
        (lambda folder: (folder / "gateway/x").touch(), ["gateway/ has changed"]),
        (lambda folder: (folder / "agent/pipe").unlink(), ["agent/ has changed"]),
        (visit, ["a planted socket was connected to"]),
    ],
)
def test_what_a_script_changes_or_reaches_on_the_host_is_seen(
    tmp_path_factory: pytest.TempPathFactory, act: Callable[[Path], object], found: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("s")

    async def scene() -> list[str]:
        (folder / "gateway").mkdir()
        stage = Scene(folder, uid=10999)
        try:
            await stage.set_up()
            await asyncio.to_thread(act, folder)
            await asyncio.sleep(0.05)
            return await stage.differences()
        finally:
            await stage.clear()

    assert asyncio.run(scene()) == found


def test_the_traps_are_not_in_the_snapshot(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Case 107."""
    folder = tmp_path_factory.mktemp("s")

    async def scene() -> None:
        (folder / "gateway").mkdir()
        stage = Scene(folder, uid=10999)
        await stage.set_up()
        await stage.clear()

    asyncio.run(scene())
    assert [path.name for path in (folder / "snapshot").iterdir()] == ["in.txt"]
    assert {path.name for path in (folder / "agent").iterdir()} >= {"pipe", "hard.txt", "soft.txt", "root"}
