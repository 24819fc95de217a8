"""How a run ends when the model's upstream misbehaves: asked again where that is safe, else failed with the reason."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.integration.upstream.stage import Stage

pytestmark = pytest.mark.docker


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the upstream does at each request, and what comes of it."""

    actions: str
    requests: int
    failure: str | None = None  #: None: the run is answered


HINT = "check the model key the supervisor was given"
#: `early` ends an answer before its first event, `cut` after some of it; `hang` says nothing, `stall` stops halfway.
CASES = {
    "fine": Case(actions="ok", requests=1),
    "limited": Case(actions="429,ok", requests=2),
    "passing": Case(actions="500,529,ok", requests=3),
    "silent": Case(actions="hang,early,ok", requests=3),
    "cutonce": Case(actions="cut,ok", requests=2),  # the CLI asks once more by itself: it has been handed no call
    "key": Case(actions="401", requests=1, failure=f"answered 401: invalid x-api-key (***)\nhint: {HINT}"),
    "broken": Case(actions="500", requests=4, failure="answered 500: internal server error (***)"),
    "overloaded": Case(actions="529", requests=4, failure="answered 529: Overloaded (***)"),
    "hung": Case(actions="hang", requests=4, failure="stayed silent too long"),
    "cut": Case(actions="cut", requests=2, failure="broke the connection"),
    "stalled": Case(actions="stall", requests=2, failure="stayed silent too long"),
}


@pytest.fixture(scope="module")
def played(stage: Stage) -> Stage:
    """Every case, sent at once: most of their time is waiting."""
    for name, case in CASES.items():
        stage.send(case.actions, name)
    return stage


@pytest.mark.parametrize("name", CASES)
def test_a_run_is_answered_or_fails_with_a_reason_a_person_understands(played: Stage, name: str) -> None:
    """Issue 3 item 4."""
    case = CASES[name]
    ended = played.ended(name)
    wanted = ("replied", f"the answer to {name}") if case.failure is None else ("failed", None)
    assert (ended["state"], ended["reply"]) == wanted, ended["reason"]
    reason = None if case.failure is None else f"the model's upstream {case.failure}"
    assert (ended["reason"], len(played.double.seen(name))) == (reason, case.requests)


def test_the_upstream_s_retry_after_is_waited_for(played: Stage) -> None:
    """The double asks for one second, longer than our own first wait can be."""
    played.ended("limited")
    first, second = played.double.seen("limited")
    assert second["at"] - first["at"] >= 1.0


@pytest.mark.parametrize(("actions", "name"), [("401,ok", "rekeyed"), ("cut,cut,ok", "mended")])
def test_a_failed_run_goes_on_when_its_upstream_is_well_again(played: Stage, actions: str, name: str) -> None:
    """Issue 3 item 4: in the same conversation, of which the failure is no part."""
    run = played.send(actions, name)
    assert played.ended(name)["state"] == "failed"
    assert played.supervisor.run("run", "resume", run).returncode == 0
    ended = played.supervisor.until(run, "replied")
    assert (ended["reply"], ended["reason"], len(ended["segments"])) == (f"the answer to {name}", None, 2)
    body = played.double.seen(name)[-1]["body"]
    assert body.count(f"play {actions} as {name}") == 1
    assert "upstream" not in body
    assert "API Error" not in body
