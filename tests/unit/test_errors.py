"""The error tree: whose fault, which exit code, which status; nothing lost on the way."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import pytest

import runner
from runner.errors import RunnerError, every_error

#: The errors of `runner.errors` itself; rooms add kinds of their own beneath them.
SHARED = {code: kind for code, kind in every_error().items() if kind.__module__ == "runner.errors"}

#: The contract of cli.md, spelled out: code → (exit code, HTTP status).
CONTRACT = {
    "error": (1, 500),
    "usage": (2, 400),
    "not_found": (3, 404),
    "configuration": (2, 400),
    "settings": (2, 400),
    "profile": (2, 400),
    "capture": (2, 400),
    "delivery": (1, 400),
    "sandbox": (1, 500),
    "sandbox_unavailable": (9, 503),
    "sandbox_mismatch": (1, 500),
    "snapshot": (1, 500),
    "agent_protocol": (1, 500),
    "gateway": (1, 500),
    "approval": (1, 500),
    "already_decided": (4, 409),
    "expired": (5, 410),
    "digest_mismatch": (6, 412),
    "not_allowed": (7, 403),
    "credential_needed": (7, 403),
    "thread_busy": (7, 409),
    "thread_over": (5, 410),
    "paused": (8, 423),
    "store": (9, 503),
    "unavailable": (9, 503),
}


def descendants(kind: type[RunnerError]) -> list[type[RunnerError]]:
    """An error and all kinds of it, in every room."""
    return [kind, *(found for child in kind.__subclasses__() for found in descendants(child))]


def test_every_error_has_its_documented_exit_code_and_status() -> None:
    assert {code: (kind.exit_code, kind.http_status) for code, kind in SHARED.items()} == CONTRACT


def kinds_of_every_room() -> list[type[RunnerError]]:
    """Every error that any module of the package defines."""
    for module in pkgutil.walk_packages(runner.__path__, "runner."):
        if not module.name.endswith(("__main__", "migrations.env")):
            importlib.import_module(module.name)
    return [kind for kind in descendants(RunnerError) if kind.__module__.startswith("runner.")]


def test_no_two_errors_of_any_room_share_a_code() -> None:
    """A code is the one thing a script or the API's client goes by."""
    kinds = kinds_of_every_room()
    assert len(kinds) > len(CONTRACT)
    assert sorted(kind.code for kind in kinds) == sorted({kind.code for kind in kinds})


def test_every_error_of_any_room_ends_with_a_documented_exit_code() -> None:
    assert {(kind.exit_code, kind.http_status) for kind in kinds_of_every_room()} <= set(CONTRACT.values())


@pytest.mark.parametrize(
    ("details", "resolution", "expected"),
    [
        (None, None, "cannot start: no engine"),
        ("it said no", None, "cannot start: no engine\nit said no"),
        (None, "start it", "cannot start: no engine\nhint: start it"),
        ("it said no", "start it", "cannot start: no engine\nit said no\nhint: start it"),
    ],
)
def test_diagnostics_say_what_evidence_and_what_to_do(details: str | None, resolution: str | None, expected: str) -> None:
    error = RunnerError("cannot start: no engine", details=details, resolution=resolution)
    assert (error.diagnostics(), str(error)) == (expected, "cannot start: no engine")


@pytest.mark.parametrize("kind", SHARED.values(), ids=lambda kind: kind.code)
def test_an_error_survives_pickling_with_all_it_says(kind: type[RunnerError]) -> None:
    """It may cross a process or an engine's row; what it says must not get lost there."""
    error = kind("cannot do it: cause", details="evidence", resolution="do this")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.diagnostics()) == (kind, error.diagnostics())


def test_every_error_says_in_a_sentence_what_it_means() -> None:
    assert {code for code, kind in SHARED.items() if not (kind.__doc__ or "").strip().partition("\n")[0].endswith(".")} == set()
