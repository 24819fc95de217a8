"""Each layer alone, the others switched off from here: what a subverted model asks for is stopped and on record (M3).

The real CLI in the real container. Nothing in the product can switch a layer off; these tests replace its parts in their own
process.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import PermissionResultAllow

from runner.agent import Outcome, SessionEnd
from runner.agent import session as session_module
from runner.gateway import Handover, ModelTurn, ToolResult
from runner.lifecycle import ApprovalState
from runner.model import JsonObject, Policy, Profile, ToolScope
from tests.helpers.agent_gate import RecordingGate
from tests.helpers.agent_harness import AgentHarness, Talk, text, use
from tests.helpers.builders import a_profile
from tests.helpers.desk import AtDesk, at_desk
from tests.helpers.gateway import as_given
from tests.integration.agent.test_gates import without_ask_settings

pytestmark = pytest.mark.docker

UNDECLARED = use("Bash", command="cat in.txt")
READ = use("Read", file_path="in.txt")
UNAPPROVED = use("mcp__runner__Write", file_path="o.txt", content="x")
#: In one a read of `in.txt` is blocked, in the other a person is to be asked.
ELSEWHERE, ASKS = a_profile(scopes=(ToolScope(tool="Read", only=("docs/**",)),)), a_profile(policy=Policy.ASK)
#: Every handler says that it is done, as a broker that acts without an order would.
FORGED = Outcome(text="Created /workspace/o.txt: 1 bytes written.", is_error=False)


@pytest.fixture(autouse=True)
def _a_file(agent: AgentHarness) -> None:
    (agent.snapshot / "in.txt").write_text("INSIDE-DATA\n")


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is on record afterwards: tool, verdict and rule of each call, and the states of approvals."""

    talk: Talk
    calls: list[tuple[str, str, str]]
    approvals: list[ApprovalState]
    doom: str

    @property
    def told(self) -> str:
        """Everything the model was ever sent."""
        return json.dumps(self.talk.requests)


def recorded(
    folder: Path,
    scene: Callable[[AtDesk], Coroutine[Any, Any, Talk]],
    *,
    profile: Profile = ELSEWHERE,
    person: Callable[[AtDesk], Any] | None = None,
) -> Record:
    """Play a scene before a real desk; unless the profile says otherwise a read of `in.txt` is refused."""
    (folder / "desk").mkdir()

    async def main(at: AtDesk) -> Record:
        deciding = asyncio.create_task(person(at)) if person is not None else None
        talk = await scene(at)
        if deciding is not None:
            await deciding
        calls = [(call.tool, call.verdict.value, call.rule) for call in await at.calls()]
        return Record(talk=talk, calls=calls, approvals=[row.state for row in await at.queue()], doom=at.desk.doom)

    with at_desk(folder / "desk", profile) as at:
        return asyncio.run(main(at))


# --- the gateway and its desk, alone ----------------------------------------------------------------------------------


@pytest.fixture
def no_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hook, and a callback that says yes to everything; the ask-everything settings are left out by each test."""

    async def yes(*_: object) -> PermissionResultAllow:
        return PermissionResultAllow()

    monkeypatch.setattr(session_module, "hooks", lambda _gate: {})
    monkeypatch.setattr(session_module, "Callback", lambda _gate: yes)


def ungated(agent: AgentHarness, *calls: JsonObject) -> Callable[[AtDesk], Coroutine[Any, Any, Talk]]:
    """The model makes these calls in one turn, and nothing in front of the tools objects."""

    def scene(at: AtDesk) -> Coroutine[Any, Any, Talk]:
        turns = [calls, [text("bye")]]
        gate = RecordingGate(handler=FORGED)
        return agent.converse(*turns, gate=gate, desk=at.desk, profile=at.profile, start=without_ask_settings)

    return scene


@pytest.mark.usefixtures("no_gate")
def test_the_gateway_alone_stops_an_undeclared_call_and_reports_it(agent: AgentHarness, tmp_path: Path) -> None:
    """Design.md §2.4: it reaches the CLI under a name no CLI has; the run goes on."""
    record = recorded(tmp_path, ungated(agent, UNDECLARED))
    assert isinstance(record.talk.end, SessionEnd), record.talk.end
    assert record.calls == [("Bash", "deny", "not_declared")]
    assert ("No such tool available: Bash" in record.told, "INSIDE-DATA" in record.told) == (True, False)


@pytest.mark.usefixtures("no_gate")
@pytest.mark.parametrize(("profile", "verdict"), [(ELSEWHERE, "deny"), (ASKS, "ask")], ids=["blocked", "unapproved"])
def test_the_gateway_alone_stops_what_a_read_has_found_that_was_not_let_run(
    agent: AgentHarness, tmp_path: Path, profile: Profile, verdict: str
) -> None:
    """The CLI has read within the wall; the model never hears of it, and the run ends."""
    record = recorded(tmp_path, ungated(agent, READ), profile=profile)
    assert [call[:2] for call in record.calls] == [("Read", verdict)]
    assert record.doom == "cannot trust the agent: it carried out a call that it was not allowed"
    assert record.talk.gateway.failure == record.doom
    assert (len(record.talk.requests), "INSIDE-DATA" in record.told) == (1, False)


@pytest.mark.usefixtures("no_gate")
def test_the_gateway_alone_stops_an_outcome_nobody_approved_and_reports_it(agent: AgentHarness, tmp_path: Path) -> None:
    """What a handler made up is no recorded outcome: the run ends, and the approval still waits."""
    record = recorded(tmp_path, ungated(agent, UNAPPROVED))
    assert (record.calls[0][:2], record.approvals) == (("Write", "ask"), [ApprovalState.PENDING])
    assert record.doom == "cannot trust the agent: it reports an outcome that is not on record"
    assert (len(record.talk.requests), FORGED.text in record.told) == (1, False)


@pytest.mark.usefixtures("no_gate")
def test_the_gateway_alone_lets_a_read_be_that_is_allowed(agent: AgentHarness, tmp_path: Path) -> None:
    """Were this to fail, the tests above would show a gateway that stops everything."""
    record = recorded(tmp_path, ungated(agent, READ), profile=a_profile())
    assert isinstance(record.talk.end, SessionEnd), record.talk.end
    assert (record.calls[0][:2], "INSIDE-DATA" in record.told, record.doom) == (("Read", "allow"), True, "")


# --- the gate, alone --------------------------------------------------------------------------------------------------


class Blind:
    """A gateway's desk that hands everything over as the model wrote it and believes every result.

    Args:
        at: Whose desk takes the turn, so that the gate knows its calls; None: not even that.
    """

    def __init__(self, at: AtDesk | None) -> None:
        self._at = at

    async def open_request(self) -> None:
        """Whatever it is."""

    async def open_count(self) -> None:
        """Whatever it is."""

    async def take_turn(self, turn: ModelTurn) -> tuple[Handover, ...]:
        if self._at is not None:
            await self._at.desk.take_turn(turn)
        return tuple(as_given(tool) for tool in turn.tool_uses)

    async def check_results(self, results: tuple[ToolResult, ...]) -> None:
        """Whatever they say."""


def unchecked(agent: AgentHarness, *, known: bool) -> Callable[[AtDesk], Coroutine[Any, Any, Talk]]:
    """The three calls of a subverted model in one turn, through a gateway that checks nothing."""

    def scene(at: AtDesk) -> Coroutine[Any, Any, Talk]:
        turns = [[UNDECLARED, READ, UNAPPROVED], [text("bye")]]
        desk = Blind(at if known else None)
        return agent.converse(*turns, gate=at.desk, desk=desk, profile=at.profile, asked_first=None)

    return scene


async def a_person_says_no(at: AtDesk) -> None:
    while not (rows := await at.queue()):  # noqa: ASYNC110 -- rows ring no bell
        await asyncio.sleep(0.02)
    await at.deny(rows[0], "not this one")


def test_the_gate_alone_stops_all_three_and_reports_them(agent: AgentHarness, tmp_path: Path) -> None:
    """The CLI has no such tool, the read is refused, the write waits for a person who says no."""
    record = recorded(tmp_path, unchecked(agent, known=True), person=a_person_says_no)
    assert isinstance(record.talk.end, SessionEnd), record.talk.end
    assert [call[:2] for call in record.calls] == [("Bash", "deny"), ("Read", "deny"), ("Write", "ask")]
    assert record.approvals == [ApprovalState.DENIED]
    results = record.talk.results()
    assert ("No such tool available" in results[0], "not this one" in results[2]) == (True, True)
    assert ("INSIDE-DATA" in record.told, "bytes written" in record.told) == (False, False)


def test_the_gate_alone_stops_calls_of_which_no_gateway_told_it(agent: AgentHarness, tmp_path: Path) -> None:
    """Not even decided before: what the gate does not know it refuses, and notes as a call the model never made."""
    record = recorded(tmp_path, unchecked(agent, known=False))
    assert isinstance(record.talk.end, SessionEnd), record.talk.end
    assert sorted({call[:2] for call in record.calls}) == [("Read", "deny"), ("mcp__runner__Write", "deny")]
    assert record.approvals == []
    assert ("INSIDE-DATA" in record.told, "bytes written" in record.told) == (False, False)
    assert "the model made no such call" in record.told
