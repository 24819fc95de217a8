"""todo, settle and log: what needs a person, and what was done by whom."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.helpers.fake_service import APPROVAL, CALL_DIGEST, RUN, FakeService, an_approval, an_event
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_everything_that_needs_a_person_is_listed_with_its_command(run: Run, service: FakeService) -> None:
    pending, unknown = an_approval(), an_approval(state="unknown", id="a_9999999999999999", tool="Edit")

    async def both(*, run: str | None, states: list[str] | None, limit: int | None = None) -> dict[str, object]:
        return {"snapshot": "s_1", "approvals": [pending, unknown]}

    service.approvals = both  # type: ignore[method-assign, assignment]
    head, first, second = run("todo").out.splitlines()
    assert head.split() == ["to", "do", "agent", "what", "from", "asked", "expires", "with"]
    assert first.startswith("decide")
    assert first.endswith(f"runner approve {APPROVAL}")
    assert second.startswith("settle")
    assert second.endswith("runner settle a_9999999999999999 happened|not-happened")
    listed = run("todo", "--json").json
    assert (listed["count"], [item["kind"] for item in listed["items"]]) == (2, ["approval", "unknown"])
    assert listed["items"][0]["command"] == f"runner approve {APPROVAL}"


def test_quiet_is_a_number_and_an_exit_code(run: Run, service: FakeService) -> None:
    assert run("todo", "-q")[:2] == (1, "1\n")
    assert (run("todo", "-q", "--json").json, run("todo").code) == ({"count": 1}, 0)

    async def nothing(*, run: str | None, states: list[str] | None, limit: int | None = None) -> dict[str, object]:
        return {"snapshot": "s_1", "approvals": []}

    service.approvals = nothing  # type: ignore[method-assign, assignment]
    assert run("todo", "-q")[:2] == (0, "0\n")
    assert run("todo")[:2] == (0, "nothing needs you\n")


@pytest.mark.parametrize(("answer", "happened", "state"), [("happened", True, "done"), ("not-happened", False, "failed")])
def test_what_is_unknown_is_settled_with_a_word(
    answer: str, happened: bool, state: str, run: Run, service: FakeService
) -> None:
    """B9, K1."""
    service.approval_row["state"] = "unknown"
    ran = run("settle", APPROVAL[:8], answer, "--reason", "I looked")
    assert (ran.code, ran.out) == (0, f"settled Write {APPROVAL}: {state}\n")
    (asked,) = [found for name, found in service.asked if name == "settle"]
    assert asked[:2] == (happened, "I looked")  # type: ignore[index]


@pytest.mark.parametrize("arguments", [(APPROVAL,), (APPROVAL, "yes"), (APPROVAL, "")])
def test_settling_without_saying_what_settles_nothing(arguments: tuple[str, ...], run: Run, service: FakeService) -> None:
    service.approval_row["state"] = "unknown"
    assert run("settle", *arguments).code == 2
    assert service.decisions == []


def test_an_unknown_effect_says_how_it_is_settled(run: Run, service: FakeService) -> None:
    service.approval_row["state"] = "unknown"
    assert f"runner settle {APPROVAL} happened|not-happened" in run("show", APPROVAL).out


def test_the_log_says_who_did_what_when(run: Run, service: FakeService) -> None:
    service.event_rows = [
        an_event(1, "approval.approve", "anna", **{"from": "pending", "to": "approved"}, reason="fine", digest=CALL_DIGEST),
        an_event(2, "call.decide", "supervisor", tool="Write", rank=7, uid=0, sender_kind="owner", reason=None),
    ]
    assert run("log").out.splitlines() == [
        f"2027-01-15 08:00:01  anna        approval.approve     {RUN}  pending → approved, reason fine",
        f"2027-01-15 08:00:02  supervisor  call.decide          {RUN}  tool Write, rank 7",
    ]


def test_the_log_as_json_is_one_document_with_every_fact(run: Run, service: FakeService) -> None:
    assert run("log", "--json", "-n", "1").json == {"events": service.event_rows[-1:]}
    assert service.asked == [("log", (None, 1, 0.0))]


def test_following_the_log_prints_each_event_once_as_it_comes(service: FakeService) -> None:
    service.happening = [an_event(3, "run.start", "supervisor"), an_event(4, "run.reply", "supervisor")]
    command = [sys.executable, "-m", "runner", "log", "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            seen = [json.loads(process.stdout.readline())["seq"] for _ in range(4)]
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    assert (seen, rest, errors, process.returncode) == ([1, 2, 3, 4], "", "", 130)


def test_an_event_cannot_draw_or_start_a_line(run: Run, service: FakeService) -> None:
    """V3: reasons and names come from anywhere."""
    service.event_rows = [an_event(1, "run.fail", "x\n2027 root", reason="\x1b[2J\nrunner: fine\u202e")]
    out = run("log").out
    assert len(out.splitlines()) == 1
    assert "\x1b" not in out
    assert "x\\u{a}2027 root" in out
