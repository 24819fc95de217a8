"""grant, grants, revoke and show of a grant (D3, K1)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from runner.policy.grants import Wish
from tests.helpers.fake_grants import GRANT
from tests.helpers.fake_service import FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
SAYS = "this will skip asking for: Write of scribe, beneath out, where file_path looks like out/*.md"


def test_off_a_terminal_a_grant_needs_yes_and_says_what_it_skips(run: Run, service: FakeService) -> None:
    assert run("grant", "scribe", "Write", "--for", "1h").code == 2
    assert service.asked == []
    ran = run(
        "grant", "scribe", "Write", "--path", "out", "--match", "file_path=out/*.md", "--for", "1h", "--uses", "5", "--yes"
    )
    assert (ran.code, SAYS in ran.out, f"granted {GRANT}; runner revoke {GRANT} ends it" in ran.out) == (0, True, True)
    name, found = service.asked[-1]
    wish = Wish(agent="scribe", tool="Write", seconds=3600, uses=5, path="out", match={"file_path": "out/*.md"})
    assert (name, found[0]) == ("grant", wish)  # type: ignore[index]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--for", "1"),
        ("--for", "soon"),
        ("--for", "1h", "--match", "file_path"),
        ("--for", "1h", "--match", "=x"),
        ("--for", "1h", "--match", "a=1", "--match", "a=2"),
        ("--for", "1h", "--uses", "0"),
        ("--for", "1h", "--uses", "101"),
        (),
    ],
)
def test_a_grant_that_is_not_well_put_is_bad_input(arguments: tuple[str, ...], run: Run, service: FakeService) -> None:
    assert run("grant", "scribe", "Write", *arguments, "--yes").code == 2
    assert service.asked == []


def test_grants_are_listed_shown_and_revoked(run: Run, service: FakeService) -> None:
    """D3, K1."""
    ran = run("grants")
    assert [word in ran.out for word in (GRANT, "beneath out, file_path=out/*.md", "live", "1 of 5")] == [True] * 4
    assert json.loads(run("grants", "--json").out)["grants"][0]["id"] == GRANT
    run("grants", "--agent", "scribe", "--all")
    assert service.asked[-1] == ("grants", ("scribe", True))
    ran = run("show", GRANT[:8])
    assert (ran.code, SAYS in ran.out, "writes out/a.md" in ran.out) == (0, True, True)
    assert json.loads(run("show", GRANT, "--json").out)["id"] == GRANT
    ran = run("revoke", GRANT[:8])
    assert (ran.code, f"revoked {GRANT}" in ran.out, service.asked[-1][0]) == (0, True, "revoke")
    assert "revoked" in run("show", GRANT).out


def test_an_empty_list_says_that_everything_is_asked(run: Run, service: FakeService) -> None:
    async def nothing(*_: object, **__: object) -> object:
        return {"grants": []}

    service.grants.listed = nothing  # type: ignore[method-assign, assignment]
    assert "every call that has to be asked about is asked about" in run("grants").out


def test_what_is_no_grant_is_not_revoked(run: Run, service: FakeService) -> None:
    assert run("revoke", "r_0123456789abcdef").code == 3
    assert service.asked == []
