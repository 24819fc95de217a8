"""Frames of the wrong shape, kind, order or identity, through the real SDK: an error of its own name, or nothing at all."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runner.agent import SessionEnd
from runner.errors import AgentProtocolError, SandboxError, SandboxMismatchError
from runner.model import Json, JsonObject
from tests.helpers.agent_gate import RecordingGate, conversation
from tests.helpers.agent_stream import FakeCli, a_hook, a_result

#: Values where a frame has a word, a number or an object.
ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x" * 1000, [], ["a"], [[]], {}, {"a": {}}]
KINDS = (
    "control_request",
    "control_response",
    "control_cancel_request",
    "result",
    "system",
    "assistant",
    "user",
    "error",
    "end",
)


def outcome(*frames: JsonObject, before: bool = False) -> SessionEnd | AgentProtocolError:
    """What a conversation comes to in which these frames come, `before` or after the handshake, and then a good end."""

    class Odd(FakeCli):
        async def heard(self, line: JsonObject) -> None:
            if before and line["type"] == "control_request":
                self.say(*frames)
            await super().heard(line)

    async def behave(cli: FakeCli) -> None:
        if not before:
            cli.say(*frames)
        assert (await cli.hook("Read", {"a": 1}))["response"]["hookSpecificOutput"]["permissionDecision"] == "ask"
        cli.finish(result="good")

    cli = Odd(behave)
    try:
        return asyncio.run(conversation(cli))
    except AgentProtocolError as error:
        assert cli.destroyed >= 1
        return error


def goes_on(*frames: JsonObject, before: bool = False) -> bool:
    end = outcome(*frames, before=before)
    return isinstance(end, SessionEnd) and end.said == "good"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_any_field_of_any_value_is_an_error_by_its_name_or_nothing(kind: str, value: Json) -> None:
    """A list for an id, a word for an object: none may end in a fault that looks like the supervisor's."""
    fields = ("request_id", "request", "response", "subtype", "message", "task_id", "task_type", "state", "error", "exception")
    for name in fields:
        end = outcome({"type": kind, "request_id": "q", "request": {"subtype": "x"}, name: value})
        assert isinstance(end, SessionEnd | AgentProtocolError)


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("subtype", ["can_use_tool", "hook_callback", "mcp_message"])
def test_a_request_with_any_value_in_any_field_is_never_allowed(subtype: str, value: Json) -> None:
    gate = RecordingGate()
    names = ("tool_name", "input", "callback_id", "server_name", "message")

    async def behave(cli: FakeCli) -> None:
        for name in names:
            request: JsonObject = {"subtype": subtype, "callback_id": "hook_0", "server_name": "runner", name: value}
            answer = await cli.ask(request)
            assert '"allow"' not in str(answer).replace("'", '"')
            assert '"ask"' not in str(answer).replace("'", '"')
        cli.finish()

    asyncio.run(conversation(FakeCli(behave), gate))
    assert gate.asked == []


@pytest.mark.parametrize(
    "subtype",
    [
        "interrupt",
        "set_permission_mode",
        "set_model",
        "initialize",
        "rewind_files",
        "mcp_toggle",
        "hook_Callback",
        "\u202e",
        "x",
    ],
)
def test_an_unknown_request_is_answered_with_an_error_and_starts_nothing(subtype: str) -> None:
    gate = RecordingGate()

    async def behave(cli: FakeCli) -> None:
        answer = await cli.ask({"subtype": subtype, "mode": "bypassPermissions", "tool_name": "Read", "input": {}})
        assert answer["subtype"] == "error"
        cli.finish()

    cli = FakeCli(behave)
    assert asyncio.run(conversation(cli, gate)).subtype == "success"
    assert gate.asked == []
    assert [line["type"] for line in cli.sent] == ["control_request", "user", "control_response"]


def test_a_hook_of_another_name_is_answered_with_an_error() -> None:
    async def behave(cli: FakeCli) -> None:
        answer = await cli.ask({**a_hook("Read", {}), "callback_id": "hook_1"})
        assert answer["subtype"] == "error"
        cli.finish()

    gate = RecordingGate()
    asyncio.run(conversation(FakeCli(behave), gate))
    assert gate.asked == []


@pytest.mark.parametrize("identity", ["", "req_1", "req_1_00000000", "../../x", "q1"])
def test_an_answer_to_what_was_not_asked_is_nothing(identity: str) -> None:
    """Case 93, the other way round."""
    answer: JsonObject = {"subtype": "success", "request_id": identity, "response": {"behavior": "allow"}}
    end = outcome({"type": "control_response", "response": answer})
    assert isinstance(end, AgentProtocolError) if not identity else isinstance(end, SessionEnd)


def test_an_answer_given_before_it_was_asked_for_is_no_handshake() -> None:
    """The id of `initialize` is random, so it cannot be answered ahead."""
    ready: JsonObject = {"hook_on_failure_supported": True}
    early: list[JsonObject] = [
        {"type": "control_response", "response": {"subtype": "success", "request_id": f"req_1_{n:08x}", "response": ready}}
        for n in range(50)
    ]
    assert goes_on(*early, before=True)


def test_answers_to_the_same_question_after_the_first_are_nothing() -> None:
    class Twice(FakeCli):
        async def heard(self, line: JsonObject) -> None:
            await super().heard(line)
            if line["type"] == "control_request":
                worse: JsonObject = {
                    "subtype": "success",
                    "request_id": line["request_id"],
                    "response": {"hooks_applied": False},
                }
                self.say({"type": "control_response", "response": worse})

    async def behave(cli: FakeCli) -> None:
        cli.finish()

    assert asyncio.run(conversation(Twice(behave))).said == "done"


@pytest.mark.parametrize("frame", [{"type": "error", "error": "x", "exception": "y"}, {"type": "end"}])
def test_words_the_sdk_uses_inside_itself_mean_nothing_from_outside(frame: JsonObject) -> None:
    """Put on its own stream, "end" would end the conversation in silence and "error" with a fault of no kind."""
    assert goes_on(frame)
    assert goes_on(frame, before=True)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "system", "subtype": "task_started", "task_id": "t", "task_type": "local_agent"},
        {"type": "system", "subtype": "session_state_changed", "state": "idle"},
        {"type": "system", "subtype": "mirror_error"},
        {"type": "stream_event"},
        {"type": "assistant", "message": None},
        {"type": "rate_limit_event", "rate_limit_info": 3},
        {"type": "keep_alive"},
        {"type": "Control_Request", "request_id": "q", "request": {"subtype": "can_use_tool"}},
    ],
)
def test_frames_about_itself_change_nothing(frame: JsonObject) -> None:
    assert goes_on(frame)
    assert goes_on(frame, before=True)


def test_a_good_result_before_the_cli_said_how_it_started_is_not_believed() -> None:
    with pytest.raises(SandboxMismatchError):
        outcome(a_result(result="early"), before=True)


def test_a_bad_result_before_the_handshake_is_the_end() -> None:
    """A refused resume comes so."""
    end = outcome(a_result(is_error=True, result="No conversation found"), before=True)
    assert isinstance(end, SessionEnd)
    assert (end.is_error, end.said) == (True, "No conversation found")


def test_what_comes_after_the_result_is_not_read() -> None:
    gate = RecordingGate()

    async def behave(cli: FakeCli) -> None:
        cli.finish()
        await asyncio.sleep(0)
        cli.open(a_hook("Read", {}))

    cli = FakeCli(behave)
    assert asyncio.run(conversation(cli, gate)).subtype == "success"
    assert cli.answers == []


def test_a_container_that_takes_no_answer_is_killed_and_runs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Cases 76, 77: it closes its stdin and goes on. A fault per answer would fill the log."""
    gate = RecordingGate()

    async def behave(cli: FakeCli) -> None:
        cli.deaf = SandboxError("cannot write to the container: it is gone")
        for n in range(20):
            cli.open(a_hook("Read", {"n": n}))
        await asyncio.Event().wait()

    cli = FakeCli(behave)
    with pytest.raises(AgentProtocolError, match="its stream broke off"):
        asyncio.run(conversation(cli, gate))
    gc.collect()
    assert (cli.answers, cli.destroyed >= 1) == ([], True)
    assert [record.message for record in caplog.records if "never retrieved" in record.message] == []


class Written(FakeCli):
    """Keeps the very bytes that are written to it."""

    def __init__(self, behaviour: Callable[[FakeCli], Awaitable[None]]) -> None:
        super().__init__(behaviour)
        self.bytes = b""

    async def send(self, data: bytes) -> None:
        self.bytes += data
        await super().send(data)


HOSTILE = [
    "\n",
    "\r\n{not json}\n",
    "\u2028\u2029\x85\x1c",
    "\ud800",
    '"}\n{"type":"user"}\n',
    "\x00",
    "x" * 100_000,
    "{{not json}",
]


def test_whatever_is_asked_each_line_that_is_written_is_one_json_object() -> None:
    """Case 94: a line of anything else ends the CLI; what a container says comes back in errors and in the input it may run."""

    async def ask_all(cli: FakeCli) -> None:
        for word in HOSTILE:
            await cli.hook(word, {"file_path": word})
            await cli.may("Read", {word: word})
            await cli.ask({"subtype": word, "request": word})
            await cli.ask({"subtype": "hook_callback", "callback_id": word, "input": {}})
            await cli.ask(
                {"subtype": "mcp_message", "server_name": word, "message": {"jsonrpc": "2.0", "id": word, "method": word}}
            )
            await cli.ask(
                {"subtype": "mcp_message", "server_name": "runner", "message": {"jsonrpc": "2.0", "id": 1, "method": word}}
            )
        for number, word in enumerate(HOSTILE):
            await cli.open(a_hook("Read", {}), identity=f"{number}{word[:50]}")[1]
        cli.finish()

    cli = Written(ask_all)
    assert asyncio.run(conversation(cli)).said == "done"
    *lines, rest = cli.bytes.split(b"\n")
    assert (rest, len(lines) > len(HOSTILE) * 7) == (b"", True)
    assert all(isinstance(json.loads(one.decode("ascii")), dict) for one in lines)
