"""usage and run raise over the API; what a model or an agent's name holds reaches no terminal as it is."""

from __future__ import annotations

from collections.abc import Callable

from tests.helpers.fake_service import RUN, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_usage_is_a_table_by_agent_and_a_document_by_whatever_is_asked(run: Run, service: FakeService) -> None:
    """M11."""
    shown = run("usage")
    assert (shown.code, "1200" in shown.out, "0.0123" in shown.out) == (0, True, True)
    assert ("\x1b[31m" in shown.out, r"\u{1b}" in shown.out.lower()) == (False, True)
    found = run("usage", "--by", "day", "--days", "7", "--json").json
    assert [row["name"] for row in found["rows"]] == ["2026-11-30"]
    assert service.asked[-2:] == [("usage", ("agent", 30)), ("usage", ("day", 7))]
    assert run("usage", "--by", "model").code == 2


def test_a_budget_is_raised_by_money_or_tokens_and_by_nothing_it_is_an_error(run: Run, service: FakeService) -> None:
    done = run("run", "raise", RUN, "--usd", "1.5")
    assert (done.code, "queued" in done.out) == (0, True)
    name, asked = service.asked[-1]
    assert (name, *asked[:3]) == ("raise", RUN, 0, 1.5)  # type: ignore[index]
    nothing = run("run", "raise", RUN)
    assert (nothing.code, "--usd or --tokens" in nothing.err) == (2, True)


def test_a_run_that_waits_for_a_budget_is_something_to_do(run: Run, service: FakeService) -> None:
    service.spending.waiting = [
        {
            "run": RUN,
            "agent": "scribe",
            "sender": "owner",
            "says": "the run's budget of 1.00 USD is spent (0.97 USD used)",
            "created": 1.0,
        }
    ]
    first, *_ = run("todo", "--json").json["items"]
    assert (first["kind"], first["command"]) == ("budget", f"runner run raise {RUN}")
    shown = run("todo").out
    assert ("raise or stop" in shown, "the run's budget of 1.00 USD is spent" in shown) == (True, True)
