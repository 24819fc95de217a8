"""pause and resume on the command line (R29, L9)."""

from __future__ import annotations

from collections.abc import Callable

from runner.errors import PausedError
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_pause_and_resume_say_what_is_so_now(run: Run, service: FakeService) -> None:
    assert (run("pause", "--reason", "away").code, service.asked[-1][0]) == (0, "pause")
    assert service.switch.paused is not None
    assert service.switch.paused["reason"] == "away"
    assert run("resume").out == "resumed; queued runs are taken again\n"
    assert run("resume").out == "nothing was paused\n"
    assert run("resume", "--json").json == {"paused": None, "was": None}


def test_what_a_pause_refuses_is_eight(run: Run, service: FakeService) -> None:
    """K2."""

    async def paused(*_: object, **__: object) -> object:
        raise PausedError("cannot: the supervisor is paused", resolution="runner resume")

    service.approve = service.send = paused  # type: ignore[method-assign, assignment]
    assert run("approve", APPROVAL, "--yes", "--digest", DIGEST).code == 8
    refused = run("send", "scribe", "--note", "x")
    assert (refused.code, "hint: runner resume" in refused.err) == (8, True)
