"""undo: what it says, what it prints for programs, and how it ends (issue 5 item 3; K2, K3, V3)."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.helpers.fake_service import APPROVAL, RUN, FakeService
from tests.helpers.fake_undos import UNDO
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_an_undo_says_what_became_of_it_and_how_to_do_it_again(run: Run, service: FakeService) -> None:
    ran = run("undo", APPROVAL[:10])
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"taken back {APPROVAL} on /workspace/summary.md",
        "  outcome  Removed /workspace/summary.md.",
        f"  undo     {UNDO}; runner undo {UNDO} does it again",
        f"  digest   sha256:{'3' * 64}",
        "  state    done",
    ]
    assert service.asked[-1] == ("undo", (APPROVAL, os.geteuid()))


def test_for_programs_it_is_the_undos_own_record(run: Run, service: FakeService) -> None:
    found = run("undo", APPROVAL, "--json").json
    assert (found["id"], found["tool"], found["undoes"], found["state"]) == (UNDO, "Undo", APPROVAL, "done")


def test_a_dry_run_shows_the_change_and_asks_for_none(run: Run, service: FakeService) -> None:
    """V3: the file's bytes are shown as text, whatever they are."""
    ran = run("undo", APPROVAL, "--dry-run")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"runner undo {APPROVAL} would remove /workspace/summary.md",
        "  warning  the file is executable",
        "what it would change",
        "│ --- /workspace/summary.md",
        "│ +++ /dev/null",
        "│ @@ -1,1 +0,0 @@",
        "│ -a \\u{1b}[31mline",
    ]
    assert run("undo", APPROVAL, "--dry-run", "--json").json["summary"] == "remove /workspace/summary.md"
    assert [name for name, _ in service.asked if name == "undo"] == []


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_what_was_changed_since_is_five(dry: tuple[str, ...], run: Run, service: FakeService) -> None:
    service.undos.drifted = True
    ran = run("undo", APPROVAL, *dry)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.splitlines()[0].endswith("/workspace/summary.md has changed since")


@pytest.mark.parametrize(("state", "code"), [("stale", 5), ("failed", 1), ("unknown", 1), ("cancelled", 1), ("approved", 1)])
def test_an_undo_that_did_not_happen_says_so(state: str, code: int, run: Run, service: FakeService) -> None:
    service.undos.state = state
    ran = run("undo", APPROVAL)
    assert (ran.code, ran.out.splitlines()[0]) == (code, f"not taken back {APPROVAL} on /workspace/summary.md")
    assert "does it again" not in ran.out


def test_only_an_approval_can_be_undone(run: Run, service: FakeService) -> None:
    assert run("undo", RUN).code == 3
    assert run("undo", "no/id").code == 2
    assert run("undo").code == 2
