"""The real SDK client over a CLI in memory: one conversation from handshake to end, and every start that is refused."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

from runner.agent import Message, Outcome, SessionEnd
from runner.agent import session as session_module
from runner.agent.gate import HOOK_TIMEOUT
from runner.errors import AgentProtocolError, SandboxError, SandboxMismatchError, StoreError
from runner.fence import Fenced
from runner.model import Image, Json, JsonObject
from tests.helpers.agent_gate import Kept, RecordingGate, conversation
from tests.helpers.agent_mcp import HANDSHAKE
from tests.helpers.agent_stream import INITIALIZED, FakeCli, a_result
from tests.helpers.builders import a_profile

ARGUMENTS: JsonObject = {"file_path": "o.txt", "content": "x"}
HELLO: JsonObject = {"subtype": "mcp_message", "server_name": "runner", "message": HANDSHAKE[0]}


async def finishes(cli: FakeCli) -> None:
    cli.finish()


def refused(cli: FakeCli, **more: Any) -> Any:
    """The error with which a conversation ends; the container is gone by then."""
    with pytest.raises((AgentProtocolError, SandboxMismatchError, StoreError)) as caught:
        asyncio.run(conversation(cli, **more))
    assert cli.destroyed >= 1
    return caught.value


# --- a whole conversation ---------------------------------------------------------------------------------------------


def test_a_conversation_goes_from_handshake_to_result_and_the_container_is_gone() -> None:
    """P11: hook, callback and handler all ask the one gate, in the model's own names."""
    said: list[Any] = []

    async def behave(cli: FakeCli) -> None:
        said.append(await cli.hook("mcp__runner__Write", ARGUMENTS))
        said.append(await cli.may("mcp__runner__Write", ARGUMENTS))
        await cli.ask(HELLO)
        said.append(await cli.call("Write", ARGUMENTS))
        cli.say({"type": "transcript_mirror", "entries": [{"n": 1}]})
        cli.finish(result="bye")

    async def main() -> tuple[SessionEnd, FakeCli, RecordingGate, Kept]:
        cli, gate, kept = FakeCli(behave), RecordingGate(handler=Outcome(text="Created o.txt", is_error=False)), Kept()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return await conversation(cli, gate, mirror=kept), cli, gate, kept

    end, cli, gate, kept = asyncio.run(main())
    hook, may, told = said
    assert end == SessionEnd(subtype="success", is_error=False, said="bye", stderr="")
    assert hook["response"] == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "decided",
        }
    }
    assert may["response"] == {"behavior": "allow", "updatedInput": ARGUMENTS}
    assert told["result"] == {"content": [{"type": "text", "text": "Created o.txt"}], "isError": False}
    assert gate.asked == [(door, "mcp__runner__Write", ARGUMENTS) for door in ("ask", "confirm", "outcome")]
    assert kept.lines == ['{"n": 1}']
    assert (cli.destroyed, cli.input_ended) == (1, False)


def test_the_handshake_registers_one_blocking_hook_for_everything_and_keeps_no_prompt() -> None:
    """sdk.md §2B, case 109: the SDK itself words the request."""
    cli = FakeCli(finishes)
    asyncio.run(conversation(cli))
    assert cli.initialize == {
        "subtype": "initialize",
        "hooks": {
            "PreToolUse": [
                {"matcher": None, "hookCallbackIds": ["hook_0"], "timeout": HOOK_TIMEOUT, "onFailure": "block"},
            ]
        },
        "systemPromptSnapshot": False,
    }


def test_the_prompt_is_sent_once_as_composed() -> None:
    """Case 73: `client_composed` stops `@file` and `/command`."""
    cli = FakeCli(finishes)
    picture = Image(name="a.png", media_type="image/png", data=b"png")
    asyncio.run(conversation(cli, message=Message(text=Fenced("/init @in.txt"), images=(picture,))))
    (asked,) = [line for line in cli.sent if line["type"] == "user"]
    assert asked["client_composed"] is True
    assert asked["message"] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "/init @in.txt"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
        ],
    }


def test_a_resumed_session_is_asked_nothing_and_may_ask_before_it_says_how_it_started() -> None:
    """Design.md §8: on resume hook and callback come before the init line, and before `connect` has returned."""

    class Resumed(FakeCli):
        async def heard(self, line: JsonObject) -> None:
            if line["type"] == "control_request":
                self.open({"subtype": "can_use_tool", "tool_name": "Read", "input": {}})
            await super().heard(line)
            if line["type"] == "control_response":
                await FakeCli.heard(self, {"type": "user"})

    cli, gate = Resumed(finishes), RecordingGate()
    end = asyncio.run(conversation(cli, gate, message=None))
    assert (end.subtype, gate.asked) == ("success", [("confirm", "Read", {})])
    assert [line["type"] for line in cli.sent] == ["control_request", "control_response"]


def test_the_containers_figures_are_not_in_what_it_is_said_to_have_ended_with() -> None:
    async def behave(cli: FakeCli) -> None:
        cli.put(b"careful\n", stream="err")
        cli.finish(subtype="error_during_execution", is_error=True, result=None, errors=["a", "b"], total_cost_usd=9)

    end = asyncio.run(conversation(FakeCli(behave)))
    assert end == SessionEnd(subtype="error_during_execution", is_error=True, said="a; b", stderr="careful\n")


# --- ends -------------------------------------------------------------------------------------------------------------


def test_an_output_that_ends_without_a_result_is_an_end_of_its_own() -> None:
    """sdk.md §8.6: success is the CLI's word, its absence is nobody's."""

    async def behave(cli: FakeCli) -> None:
        cli.end(0)

    assert asyncio.run(conversation(FakeCli(behave))) == SessionEnd(subtype="eof", is_error=True, said="", stderr="")


def test_a_container_that_dies_while_a_call_waits_fails_at_once_and_the_question_is_given_up() -> None:
    gate = RecordingGate(hook=asyncio.Event())

    async def behave(cli: FakeCli) -> None:
        cli.put(b"out of memory\n", stream="err")
        cli.open({"subtype": "hook_callback", "callback_id": "hook_0", "input": {"tool_name": "Read", "tool_input": {}}})
        await gate.waiting.wait()
        cli.end(137)

    error = refused(FakeCli(behave), gate=gate)
    assert error.brief.startswith("cannot go on with the agent: the agent's process ended")
    assert (error.details, gate.cancelled) == ("out of memory\n", 1)


def test_a_stream_that_breaks_off_ends_the_conversation_by_its_name() -> None:
    async def behave(cli: FakeCli) -> None:
        cli.break_off(SandboxError("cannot read from the container: its stream was cut"))

    assert refused(FakeCli(behave)).brief == "cannot go on with the agent: its stream broke off"


def test_a_container_that_takes_no_prompt_ends_the_conversation_by_its_name() -> None:
    class Deaf(FakeCli):
        async def heard(self, line: JsonObject) -> None:
            await super().heard(line)
            self.deaf = SandboxError("cannot write to the container: it read nothing for 30 seconds")

    error = refused(Deaf())
    assert isinstance(error, AgentProtocolError)
    assert error.brief == "cannot go on with the agent: its stream broke off"


def test_a_store_that_fails_ends_the_conversation_with_its_own_error() -> None:
    async def behave(cli: FakeCli) -> None:
        cli.say({"type": "transcript_mirror", "entries": [{"n": 1}]}, a_result())

    assert refused(FakeCli(behave), mirror=Kept(fails=StoreError("disk full"))).brief == "disk full"


def test_a_cancelled_conversation_kills_the_container_and_answers_nothing() -> None:
    """Case 95."""

    async def main() -> tuple[FakeCli, RecordingGate]:
        gate = RecordingGate(hook=asyncio.Event())

        async def behave(cli: FakeCli) -> None:
            await cli.hook("Read", {})

        cli = FakeCli(behave)
        talk = asyncio.create_task(conversation(cli, gate))
        await gate.waiting.wait()
        talk.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talk
        return cli, gate

    cli, gate = asyncio.run(main())
    assert (cli.destroyed, gate.cancelled, cli.answers) == (1, 1, [])


# --- starts that are refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "initialized",
    [
        {},
        {**INITIALIZED, "hook_on_failure_supported": False},
        {"hooks_applied": True},
        {**INITIALIZED, "hooks_applied": False},
    ],
)
def test_a_cli_that_does_not_register_the_hook_is_not_spoken_to(initialized: JsonObject) -> None:
    """Case 85: a guard that fails open, or never runs, is none."""
    cli = FakeCli(finishes, initialized=initialized)
    error = refused(cli)
    assert isinstance(error, AgentProtocolError)
    assert [line["type"] for line in cli.sent] == ["control_request"]


def test_a_cli_that_refuses_to_start_is_quoted_apart() -> None:
    class Refusing(FakeCli):
        async def heard(self, line: JsonObject) -> None:
            answer: JsonObject = {"subtype": "error", "request_id": line["request_id"], "error": "bad \x1b[2J flag"}
            self.say({"type": "control_response", "response": answer})

    error = refused(Refusing())
    assert (error.brief, error.details) == ("cannot start the agent: it refuses to", "'bad \\x1b[2J flag'")


def test_a_cli_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's own time-out is an error of no kind, which would look like a fault of ours."""
    monkeypatch.setattr(session_module, "START_SECONDS", 0.05)
    error = refused(FakeCli(initialized=None))
    assert error.brief == "cannot go on with the agent: it did not answer within 0.05 seconds"


def test_a_cli_that_ends_before_it_answers_says_why_on_stderr() -> None:
    class Dying(FakeCli):
        async def heard(self, line: JsonObject) -> None:
            self.put(b"error: unknown option '--restricted'\n", stream="err")
            self.end(1)

    assert refused(Dying()).details == "error: unknown option '--restricted'\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tools", ["Read", "Glob", "Grep", "mcp__runner__Write", "mcp__runner__Edit", "WebSearch"]),
        ("permissionMode", "bypassPermissions"),
        ("claude_code_version", "9.9.9"),
        ("mcp_servers", []),
        ("apiKeySource", "apiKeyHelper"),
    ],
)
def test_a_cli_that_started_otherwise_is_killed_before_it_asks_anything(key: str, value: Json) -> None:
    """Cases 70, 71, 82: surplus or missing, another mode, version or server."""

    async def behave(cli: FakeCli) -> None:
        cli.open({"subtype": "can_use_tool", "tool_name": "Read", "input": {}})
        cli.finish()

    cli, gate = FakeCli(behave, init={key: value}), RecordingGate()
    error = refused(cli, gate=gate)
    assert isinstance(error, SandboxMismatchError)
    assert error.details is not None
    assert error.details.startswith(f"{key} is ")
    assert (gate.asked, cli.answers) == ([], [])


def test_a_cli_that_ends_well_without_saying_how_it_started_is_not_believed() -> None:
    error = refused(FakeCli(finishes, init=None))
    assert isinstance(error, SandboxMismatchError)
    assert error.details == "it never said how it started"


def test_a_cli_that_fails_before_it_could_say_how_it_started_is_a_failure_only() -> None:
    async def behave(cli: FakeCli) -> None:
        cli.finish(subtype="error_during_execution", is_error=True, result="No conversation found")

    end = asyncio.run(conversation(FakeCli(behave, init=None)))
    assert (end.is_error, end.said) == (True, "No conversation found")


def test_a_profile_of_reads_only_is_started_without_a_server() -> None:
    profile = a_profile(tools=("Read",))
    cli = FakeCli(finishes, profile=profile)
    assert asyncio.run(conversation(cli, profile=profile)).subtype == "success"
