"""approve, deny and stop off a terminal (V7, W2, K2, K3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.approvals import Approver
from tests.helpers.fake_service import APPROVAL, DIGEST, RUN, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_approve_off_a_terminal_names_the_digest_and_says_what_was_released(run: Run, service: FakeService) -> None:
    """W2, K3, C18."""
    ran = run("approve", APPROVAL, "--yes", "--digest", DIGEST, "--reason", "fine")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"approved Write {APPROVAL} on /workspace/summary.md",
        f"  digest   {DIGEST}",
        "  state    executing",
    ]
    name, found = service.asked[-1]
    assert (name, found[:2]) == ("approve", (DIGEST, "fine"))  # type: ignore[index]
    assert isinstance(found[2], Approver)  # type: ignore[index]


def test_approve_waits_for_the_outcome(run: Run, service: FakeService) -> None:
    """K3."""
    ran = run("approve", APPROVAL, "--yes", "--digest", DIGEST, "--wait")
    assert ran.code == 0
    assert ran.out.splitlines()[2:] == ["  state    done", "field outcome: text, 14 characters", "│ wrote 10 bytes"]


@pytest.mark.parametrize(("after", "code"), [("done", 0), ("failed", 1), ("unknown", 1), ("stale", 5)])
def test_what_came_of_it_is_the_exit_code(after: str, code: int, run: Run, service: FakeService) -> None:
    """K2."""

    async def approve(*_: object, **__: object) -> object:
        service.approval_row |= {"state": after}
        return service.approval_row

    service.approve = approve  # type: ignore[method-assign, assignment]
    assert run("approve", APPROVAL, "--yes", "--digest", DIGEST, "--json").code == code


def test_another_digest_is_six_and_decides_nothing(run: Run, service: FakeService) -> None:
    """B4, K2."""
    assert run("approve", APPROVAL, "--yes", "--digest", DIGEST[:-1]).code == 6
    assert service.decisions == []


def test_a_decided_call_is_four(run: Run, service: FakeService) -> None:
    """L1, K2."""
    service.approval_row["state"] = "denied"
    ran = run("approve", APPROVAL, "--yes", "--digest", DIGEST)
    assert ran.code == 4
    assert "already denied by uid 0" in ran.err
    assert service.decisions == []


def test_deny_carries_reason_and_stop(run: Run, service: FakeService) -> None:
    ran = run("deny", APPROVAL[:8], "--reason", "not\x1b[2J here", "--stop")
    assert (ran.code, ran.out) == (0, f"denied Write {APPROVAL}; its run is stopped\n")
    name, found = service.asked[-1]
    assert (name, found[:2]) == ("deny", ("not\x1b[2J here", True))  # type: ignore[index]


def test_stop_says_what_the_run_is_now(run: Run, service: FakeService) -> None:
    ran = run("stop", RUN, "--reason", "enough")
    assert (ran.code, ran.out) == (0, f"run {RUN} is refused (cancelled)\n")


def test_several_are_checked_before_one_is_decided(run: Run, service: FakeService) -> None:
    """D4: a wrong id among them decides nothing."""
    assert run("deny", APPROVAL, "a_zzzzzz").code == 3
    assert service.decisions == []


def test_several_are_named_with_their_digests_and_approved_together(run: Run, service: FakeService) -> None:
    """D4, W2."""
    ran = run("approve", f"{APPROVAL[:8]}={DIGEST}", f"{APPROVAL}={DIGEST}", "--yes", "--reason", "both")
    assert ran.code == 0
    name, found = service.asked[-1]
    assert (name, found[:3]) == ("approve all", ([(APPROVAL, DIGEST)] * 2, None, "both"))  # type: ignore[index]
    assert ran.out.count(f"approved Write {APPROVAL} on /workspace/summary.md") == 2


def test_a_whole_list_is_named_by_its_token(run: Run, service: FakeService) -> None:
    """D4."""
    assert run("approve", "--all-shown", "s_1", "--yes", "--json").json["approvals"][0]["state"] == "executing"
    assert service.asked[-1][1][:2] == ([], "s_1")  # type: ignore[index]
    assert run("deny", "--all-shown", "s_1").out == f"denied Write {APPROVAL}\n"
    assert (service.asked[-1][0], service.asked[-1][1][:2]) == ("deny all", ([], "s_1"))  # type: ignore[index]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--yes",),
        (APPROVAL, "--all-shown", "s_1", "--yes"),
        ("--all-shown", "s_1"),
        ("--all-shown", "s_1", "--yes", "--digest", DIGEST),
        (f"{APPROVAL}={DIGEST}", APPROVAL, "--yes"),
        (f"{APPROVAL}={DIGEST}", f"{APPROVAL}={DIGEST}"),
        (APPROVAL, APPROVAL, "--yes", "--digest", DIGEST),
        (f"{APPROVAL}={DIGEST}", "--yes", "--digest", DIGEST),
        (f"{APPROVAL}={DIGEST}", f"{APPROVAL}={DIGEST}", "--yes", "--always"),
        ("--all-shown", "s_1", "--yes", "--ask"),
    ],
)
def test_half_a_batch_is_usage(words: tuple[str, ...], run: Run, service: FakeService) -> None:
    """W2, D4: each with its digest or a whole list; no grants in bulk."""
    assert run("approve", *words).code == 2
    assert service.decisions == []
    assert [name for name, _ in service.asked if name.endswith("all")] == []


def test_several_denied_with_a_stop_all_wait_before_the_first_is_decided(run: Run, service: FakeService) -> None:
    """D4."""
    service.approval_row["state"] = "denied"
    assert run("deny", APPROVAL, APPROVAL[:9], "--stop").code == 4
    assert service.decisions == []
