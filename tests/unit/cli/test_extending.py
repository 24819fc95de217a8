"""extend on the command line (L4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.approvals import Approver
from tests.helpers.fake_service import APPROVAL, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_extend_says_until_when(run: Run, service: FakeService) -> None:
    service.approval_row["expires"] = 1_700_000_000.0
    ran = run("extend", APPROVAL[:8], "--for", "1h")
    assert (ran.code, ran.out) == (0, f"extended Write {APPROVAL} until 2023-11-14 23:13:20 UTC\n")
    name, found = service.asked[-1]
    assert (name, found[0]) == ("extend", 3600)  # type: ignore[index]
    assert isinstance(found[1], Approver)  # type: ignore[index]


@pytest.mark.parametrize("time", ["1", "1w", "-1h", "h", "", "1.5h"])
def test_what_is_no_duration_is_usage(time: str, run: Run, service: FakeService) -> None:
    """K2."""
    assert run("extend", APPROVAL, f"--for={time}").code == 2
    assert service.asked == []


def test_no_time_at_all_is_usage(run: Run, service: FakeService) -> None:
    assert run("extend", APPROVAL, "--for", "0s").code == 2
    assert service.asked == []
