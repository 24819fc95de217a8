"""The exit codes of everything that decides, each with the one error line and hint it comes with (K2): golden, for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from runner.errors import (
    AlreadyDecidedError,
    ApprovalExpiredError,
    CredentialNeededError,
    DigestMismatchError,
    NotAllowedError,
    NotFoundError,
    PausedError,
    RunnerError,
    StoreError,
    SupervisorUnavailableError,
    UsageError,
)
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
#: What the supervisor says → what the command exits with.
GOLDEN: Mapping[type[RunnerError], int] = {
    UsageError: 2,
    NotFoundError: 3,
    AlreadyDecidedError: 4,
    ApprovalExpiredError: 5,
    DigestMismatchError: 6,
    NotAllowedError: 7,
    CredentialNeededError: 7,
    PausedError: 8,
    StoreError: 9,
    SupervisorUnavailableError: 9,
}
#: Verb → what is typed, and the method of the service that answers it.
VERBS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "approve": (("approve", APPROVAL, "--yes", "--digest", DIGEST), ("approve",)),
    "approve --always": (("approve", APPROVAL, "--yes", "--digest", DIGEST, "--always"), ("approve",)),
    "deny": (("deny", APPROVAL), ("deny",)),
    "settle": (("settle", APPROVAL, "happened"), ("settle",)),
    "extend": (("extend", APPROVAL, "--for", "1h"), ("queue", "extend")),
    "undo": (("undo", APPROVAL), ("undos", "undo")),
    "resume": (("resume",), ("switch", "resume")),
}


@pytest.mark.parametrize("kind", GOLDEN, ids=lambda kind: kind.code)
@pytest.mark.parametrize("verb", VERBS)
def test_what_the_supervisor_says_is_the_exit_code(verb: str, kind: type[RunnerError], run: Run, service: FakeService) -> None:
    """K2."""
    words, (*path, method) = VERBS[verb]

    async def refuse(*_: object, **__: object) -> object:
        raise kind("cannot decide it: there is a cause", resolution="do this instead")

    part: Any = service
    for name in path:
        part = getattr(part, name)
    object.__setattr__(part, method, refuse)
    plain = run(*words)
    assert (plain.code, plain.out) == (GOLDEN[kind], "")
    assert plain.err.splitlines()[:2] == ["runner: cannot decide it: there is a cause", "hint: do this instead"]
    as_json = run(*words, "--json")
    found = json.loads(as_json.err)["error"]
    assert (as_json.code, as_json.out, found["code"], found["hint"]) == (GOLDEN[kind], "", kind.code, "do this instead")


def test_the_golden_list_names_every_code_of_the_contract() -> None:
    """Cli.md: 2 to 9 each stand for one kind of answer to a decision."""
    assert {code: kind.exit_code for kind, code in GOLDEN.items()} == {code: code for code in range(2, 10)}


def test_no_supervisor_is_nine(run: Run, state: object) -> None:
    """K2."""
    for words, _ in VERBS.values():
        assert run(*words).code == 9
