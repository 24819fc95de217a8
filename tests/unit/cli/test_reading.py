"""Reading commands: what people and programs are shown (cli.md Commands, Output)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.lifecycle import ApprovalState
from tests.helpers.fake_service import APPROVAL, CALL_DIGEST, CAPTURE, DIGEST, RUN, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_status_exits_nine_without_a_supervisor(run: Run) -> None:
    ran = run("status")
    assert (ran.code, ran.out) == (9, "")
    first, second = ran.err.splitlines()
    assert first.startswith("runner: cannot reach the supervisor at ")
    assert second == "hint: start it with runner up, or try everything with runner demo"


def test_status_exits_nought_with_one(run: Run, service: FakeService) -> None:
    ran = run("status")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "runs, pid 1, up 5 s, version 0.1.0"
    assert run("status", "--json").json["containers"] == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("runs", "--json"), lambda s: {"runs": [s.run_row]}),
        (("run", "show", "r_012345", "--json"), lambda s: s.run_row),
        (("show", RUN, "--json"), lambda s: s.run_row),
        (("approvals", "--json"), lambda s: {"snapshot": "s_1", "approvals": [s.approval_row], "total": 1}),
        (("show", "a_01234", "--json"), lambda s: s.approval_row),
        (("show", APPROVAL, "--raw"), lambda s: s.approval_row["input"]),
        (("show", CAPTURE, "--json"), lambda s: {"kind": "capture", "id": CAPTURE}),
        (("profile", "list", "--json"), lambda s: {"profiles": s.profile_rows}),
        (("profile", "show", "scribe", "--json"), lambda s: s.agents.profile_row),
    ],
)
def test_json_is_the_supervisors_record_and_nothing_else(
    arguments: tuple[str, ...], expected: Callable[[FakeService], object], run: Run, service: FakeService
) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.err, ran.json) == (0, "", expected(service))


def test_a_card_holds_everything_that_is_decided(run: Run, service: FakeService) -> None:
    """V1, V4, V8."""
    service.approval_row["warnings"] = ["the file is executable"]
    shown = run("show", APPROVAL).out
    for part in (
        f"approval {APPROVAL}  pending",
        "tool     Write",
        f"agent    scribe, run {RUN}",
        "from     owner",
        "does     Write a new file summary.md, 1 line, 10 bytes",
        "has read notes.md, a search of its files",
        "asked    Write changes files, and this run is strict.",
        "path     /workspace/summary.md leads to /workspace/summary.md",
        "warning  the file is executable",
        "field content: text, 10 characters\n│ # Summary\n│ \n",
        "│ +++ /workspace/summary.md\n│ @@ -0,0 +1 @@\n│ +# Summary\n",
        f"digest   {DIGEST}",
        f"call     {CALL_DIGEST}",
    ):
        assert part in shown


def test_a_run_shows_its_denied_calls(run: Run, service: FakeService) -> None:
    shown = run("run", "show", RUN).out
    assert f"run {RUN}  needs you (held)" in shown
    assert f"waits for you: {APPROVAL}" in shown
    calls = shown.splitlines()[3:-1]
    assert calls == [
        "  1  allow  Read notes.md",
        "            a read inside the folder",
        "            outcome: ran",
        "  2  deny   Bash id",
        "            not one of this agent's tools",
        "  3  ask    Write summary.md",
        "            a write waits",
    ]


def test_a_list_that_was_cut_off_says_how_much_is_missing(run: Run, service: FakeService) -> None:
    service.total = 12
    assert "and 11 more; --limit 12 lists them all" in run("approvals").out.splitlines()
    service.total = 1
    assert "more" not in run("approvals").out


@pytest.mark.parametrize("limit", ["0", "-1", "x", "100001"])
def test_a_limit_that_makes_no_sense_is_bad_usage(run: Run, service: FakeService, limit: str) -> None:
    assert (run("approvals", "--limit", limit).code, service.asked) == (2, [])


def test_only_what_waits_is_listed_unless_asked(run: Run, service: FakeService) -> None:
    run("approvals")
    run("approvals", "--all")
    run("approvals", "--state", "done", "--state", "failed", "--run", RUN)
    assert service.asked == [
        ("approvals", (None, None)),
        ("approvals", (None, [state.value for state in ApprovalState])),
        ("approvals", (RUN, ["done", "failed"])),
    ]


@pytest.mark.parametrize("ref", ["a_999999", "a_0123456789abcdefff"])
def test_an_unknown_id_exits_three(ref: str, run: Run, service: FakeService) -> None:
    ran = run("show", ref)
    assert (ran.code, ran.out) == (3, "")


@pytest.mark.parametrize("ref", ["", "../x", "a/b", "a\x1b[2J", "ä"])
def test_what_is_no_id_is_usage(ref: str, run: Run, service: FakeService) -> None:
    assert run("show", ref).code == 2


def test_an_id_of_another_kind_says_what_it_is(run: Run, service: FakeService) -> None:
    ran = run("deny", RUN)
    assert ran.code == 3
    assert "it is a run" in ran.err
    assert service.decisions == []


def test_an_agent_whose_replies_nobody_reviews_or_that_is_not_strict_is_listed_as_such(run: Run, service: FakeService) -> None:
    """R63, R64."""
    assert "strict" in run("profile", "list").out.splitlines()[1].split()
    service.profile_rows[0] |= {"strict": False, "allow_replies": True}
    assert "not strict, replies unreviewed" in run("profile", "list").out
