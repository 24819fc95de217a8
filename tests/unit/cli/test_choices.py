"""tools, policy, and a verdict saved with a decision: what the commands ask of the supervisor, and what they say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.policy.precedence import TABLE
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


def test_tools_are_listed_with_what_is_declared_and_saved(run: Run, service: FakeService) -> None:
    """R87, R126."""
    service.agents.tool_row |= {"saved": "block", "set_by": "uid 0", "verdict": "deny", "word": "blocked"}
    lines = run("tools", "list", "scribe").out.splitlines()
    assert lines[0] == "scribe, strict"
    assert lines[2].split() == ["Write", "write", "block", "by", "uid", "0", "deny", "(blocked)"]
    assert run("tools", "list", "scribe", "--json").json["tools"] == [service.agents.tool_row]


def test_a_verdict_is_saved_for_one_tool_of_one_agent(run: Run, service: FakeService) -> None:
    service.agents.note = "it is strict"
    ran = run("tools", "set", "scribe", "Write", "allow")
    assert (ran.code, ran.out, ran.err) == (0, "saved allow for Write of scribe\n", "note: it is strict\n")
    name, found = service.asked[-1]
    assert (name, found[:3]) == ("save", ("scribe", "Write", "allow"))  # type: ignore[index]


@pytest.mark.parametrize("arguments", [("scribe", "Write"), ("scribe", "Write", "always"), ("scribe", "Write", "ALLOW"), ()])
def test_a_verdict_that_does_not_exist_is_bad_usage(arguments: tuple[str, ...], run: Run, service: FakeService) -> None:
    assert run("tools", "set", *arguments).code == 2
    assert service.asked == []


def test_a_reset_names_one_tool_or_means_all(run: Run, service: FakeService) -> None:
    """R138."""
    assert run("tools", "reset", "scribe", "Write").out == "forgotten for scribe: Write\n"
    assert run("tools", "reset", "scribe").code == 0
    assert [found[:2] for _, found in service.asked] == [("scribe", "Write"), ("scribe", None)]  # type: ignore[index]


@pytest.mark.parametrize("verb", [("list", "nobody"), ("set", "nobody", "Write", "ask"), ("reset", "nobody")])
def test_an_agent_that_is_not_there_is_not_found(verb: tuple[str, ...], run: Run, service: FakeService) -> None:
    assert run("tools", *verb).code == 3


def test_the_precedence_table_is_shown_without_a_supervisor(run: Run) -> None:
    """Invariant 12: the same table the code decides by."""
    rows = run("policy", "table", "--json").json["table"]
    assert [(row["rank"], row["rule"], row["verdict"], row["unattended"], row["when"]) for row in rows] == [
        (row.rank, row.rule, row.verdict.value, row.unattended.value, dict(row.when)) for row in TABLE
    ]
    assert [line.split()[0] for line in run("policy", "table").out.splitlines()[1:]] == [str(row.rank) for row in TABLE]


def test_the_default_policy_is_chosen_and_shown(run: Run, service: FakeService) -> None:
    """R66, R75."""
    assert run("policy", "get").out.splitlines()[0] == "default  ask (never set)"
    ran = run("policy", "set", "skip", "--ceiling", "read_only")
    assert ran.out.splitlines() == ["default  skip", "ceiling  read_only (this host's: skip)"]
    name, found = service.asked[-1]
    assert (name, found[:2]) == ("choose", ("skip", "read_only"))  # type: ignore[index]
    assert run("policy", "get", "--json").json["policy"] == "skip"
    assert run("policy", "set", "everything").code == 2


@pytest.mark.parametrize(("flag", "verdict"), [("--always", "allow"), ("--ask", "ask")])
def test_a_verdict_can_be_saved_with_a_yes(flag: str, verdict: str, run: Run, service: FakeService) -> None:
    """R144."""
    assert run("approve", APPROVAL, "--yes", "--digest", DIGEST, flag).code == 0
    name, found = service.asked[-1]
    assert (name, found[:2]) == ("approve and save", (DIGEST, verdict))  # type: ignore[index]


def test_a_block_can_be_saved_with_a_no(run: Run, service: FakeService) -> None:
    """R144."""
    service.approval_row |= {"saved": "block", "note": "2 call(s) of it wait"}
    ran = run("deny", APPROVAL, "--block")
    assert ran.out.splitlines()[1] == "  saved    block for Write of scribe"
    assert ran.err == "note: 2 call(s) of it wait\n"
    assert service.asked[-1][0] == "deny and save"


def test_two_verdicts_at_once_decide_nothing(run: Run, service: FakeService) -> None:
    assert run("approve", APPROVAL, "--yes", "--digest", DIGEST, "--always", "--ask").code == 2
    assert service.decisions == []
