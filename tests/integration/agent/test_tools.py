"""Tools nobody declared, an environment without secrets, and calls of every size, with the real CLI."""

from __future__ import annotations

import asyncio
import json
import os
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.agent import Answer, SessionEnd, environment
from runner.errors import AgentProtocolError
from runner.lifecycle import ApprovalState
from runner.sandbox.box import Box
from runner.sandbox.launch import launch
from tests.helpers.agent_gate import RecordingGate
from tests.helpers.agent_harness import AgentHarness, Tap, text, use
from tests.helpers.builders import a_profile
from tests.helpers.desk import AtDesk, at_desk
from tests.helpers.gateway import Desk, as_given
from tests.helpers.sandbox_fixtures import an_order

pytestmark = pytest.mark.docker

UNDECLARED = {
    "Task": {"description": "x", "prompt": "x", "subagent_type": "Explore"},
    "Agent": {"description": "x", "prompt": "x", "subagent_type": "Explore"},
    "WebSearch": {"query": "canary"},
    "WebFetch": {"url": "http://127.0.0.1/", "prompt": "x"},
    "Skill": {"skill": "init"},
    "AskUserQuestion": {"questions": []},
    "ToolSearch": {"query": "Bash"},
    "Bash": {"command": "touch /tmp/x"},
    "Write": {"file_path": "/tmp/x", "content": "x"},
    "EndConversation": {},
    "ExitPlanMode": {"plan": "x"},
    "read": {"file_path": "in.txt"},
    "mcp__runner__Bash": {"command": "ls"},
    "mcp__github__comment": {"body": "x"},
}


def test_a_tool_nobody_declared_is_unknown_to_the_cli_whatever_its_name(agent: AgentHarness) -> None:
    """R44, cases 44, 70-72, 84: even when the gateway hands the names over as the model wrote them, and the gate says yes."""
    gate = RecordingGate()
    calls = [use(name, **arguments) for name, arguments in UNDECLARED.items()]
    talk = agent.talk(calls, [text("bye")], gate=gate, desk=Desk(hand=as_given))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert talk.end.said == "bye"
    told = talk.results()
    assert len(told) == len(UNDECLARED)
    assert [result for result in told if "No such tool available" not in result] == []
    assert [name for _, name, _ in gate.asked if name not in UNDECLARED] == []
    assert "outcome" not in [door for door, _, _ in gate.asked]
    assert len(talk.requests) == 2  # a web search would have asked the model by itself


def test_the_gateways_name_for_an_undeclared_tool_is_one_no_cli_has(agent: AgentHarness) -> None:
    """Design.md §2.4."""
    talk = agent.talk([use("Bash", command="ls")], [text("bye")])
    assert isinstance(talk.end, SessionEnd), talk.end
    assert "No such tool available: Bash" in talk.results()[0]
    assert talk.asked("hook_callback") == []


def test_a_profile_without_brokered_tools_starts_and_has_no_server(agent: AgentHarness) -> None:
    talk = agent.talk(
        [use("mcp__runner__Write", file_path="a", content="b")], [text("bye")], profile=a_profile(tools=("Read",))
    )
    assert isinstance(talk.end, SessionEnd), talk.end
    assert (talk.init["tools"], talk.init["mcp_servers"], talk.asked("mcp_message")) == (["Read"], [], [])


def test_a_profile_without_container_tools_offers_only_the_server(agent: AgentHarness) -> None:
    (agent.snapshot / "in.txt").write_text("INSIDE-DATA\n")
    talk = agent.talk([use("Read", file_path="in.txt")], [text("bye")], profile=a_profile(tools=("Write",)))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert talk.init["tools"] == ["mcp__runner__Write"]
    assert "INSIDE-DATA" not in json.dumps(talk.requests)


def test_the_environment_inside_is_what_was_given_and_holds_no_secret_of_the_host(
    agent: AgentHarness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """R54, G2: every process inside, asked by its own `env`."""
    for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "RUNNER_KEY", "CLAUDECODE"):
        monkeypatch.setenv(name, "CANARY-SECRET-7f3a")
    order = an_order(tmp_path, agent.image, "env", environment=environment())

    async def main() -> str:
        async def ignored(_container: str) -> None:
            """Nothing is bound to it."""

        box = await launch(agent.engine, order, on_created=ignored)
        try:
            said = b""
            while (chunk := await box.receive()) is not None:
                said += chunk.data
            return said.decode()
        finally:
            await box.destroy()

    found = dict(line.split("=", 1) for line in asyncio.run(main()).splitlines())
    assert {name: value for name, value in found.items() if environment().get(name) != value}.keys() <= {
        "HOSTNAME",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }
    assert environment().items() <= found.items()
    assert "CANARY-SECRET-7f3a" not in str(found)
    assert os.environ["HOME"] != found["HOME"]


def test_reads_in_parallel_and_twins_are_each_answered_by_themselves(agent: AgentHarness) -> None:
    """Case 55: four reads of one file and two equal writes in one turn."""
    (agent.snapshot / "in.txt").write_text("INSIDE-DATA\n")
    twin = use("mcp__runner__Write", file_path="a.txt", content="x")
    talk = agent.talk([*[use("Read", file_path="in.txt")] * 4, twin, twin], [text("bye")], gate=(gate := RecordingGate()))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert sorted(door for door, _, _ in gate.asked) == ["ask"] * 6 + ["confirm"] * 6 + ["outcome"] * 2
    assert len(talk.results()) == 6


@pytest.mark.parametrize(
    "content", ["a\u2028b\u0085c\x1cd\re", "é" * 40_000, "x" * 65_400 + " " * 300 + "y", "\ud83d\ude00" * 3]
)
def test_any_text_of_a_call_arrives_as_the_model_wrote_it(agent: AgentHarness, content: str) -> None:
    """Cases 88, 89, 90: separators, characters and blanks at the edges of chunks and lines."""
    content = content.encode("utf-16", "surrogatepass").decode("utf-16")
    gate = RecordingGate()
    talk = agent.talk([use("mcp__runner__Write", file_path="a.txt", content=content)], [text("bye")], gate=gate)
    assert isinstance(talk.end, SessionEnd), talk.end
    assert gate.asked == [
        (door, "mcp__runner__Write", {"file_path": "a.txt", "content": content}) for door in ("ask", "confirm", "outcome")
    ]


def a_pdf(size: int = 2_900_000) -> bytes:
    """One page, and a stream of noise of that size."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
        b"<</Length %d>>stream\n%s\nendstream" % (size, random.Random(7).randbytes(size)),
    ]
    made, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return made + b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(made),
    )


def a_noisy_png(width: int = 1300, height: int = 2400) -> bytes:
    """Pixels that do not compress."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    noise = random.Random(7)
    rows = b"".join(b"\0" + noise.randbytes(width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("make", "kind"), [(a_pdf, "application/pdf"), (a_noisy_png, "image/")])
def test_a_file_that_makes_frames_of_megabytes_is_read_and_the_session_lives(
    agent: AgentHarness, make: Callable[[], bytes], kind: str
) -> None:
    """Case 87, sdk.md §5: the Read of a 3 MB PDF is one frame of 8 MB, and another in the mirror."""
    name = "a.pdf" if make is a_pdf else "a.png"
    (agent.snapshot / name).write_bytes(make())
    talk = agent.talk([use("Read", file_path=name)], [text("bye")])
    assert isinstance(talk.end, SessionEnd), talk.end
    assert talk.end.said == "bye"
    assert max(len(json.dumps(frame)) for frame in talk.heard) > 1024 * 1024
    assert f'"media_type": "{kind}' in json.dumps(talk.requests[-1])


def test_one_id_for_two_calls_is_two_calls(agent: AgentHarness, tmp_path: Path) -> None:
    """Case 54, B11: ids on the wire are the model's data; the desk tells its calls apart, and each runs and is told once."""
    patterns = ["*.a", "*.b", "*.c"]
    first, second, third = ({**use("Glob", pattern=pattern), "id": "toolu_same"} for pattern in patterns)

    async def main(at: AtDesk) -> Any:
        turns = ([first, second], [third], [text("bye")])
        return await agent.converse(*turns, gate=at.desk, desk=at.desk, profile=at.profile), await at.calls()

    (tmp_path / "desk").mkdir()
    with at_desk(tmp_path / "desk") as at:
        talk, calls = asyncio.run(main(at))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert talk.end.said == "bye"
    assert [json.loads(call.raw)["pattern"] for call in calls] == patterns
    assert [call.outcome for call in calls] == ["ran in the container"] * 3
    assert len({call.wire_id for call in calls}) == 3
    assert len(talk.results()) == 3
    assert [request["input"]["tool_input"]["pattern"] for request in talk.asked("hook_callback")] == patterns


def test_a_write_of_two_megabytes_is_refused_as_one_call_and_the_session_lives(agent: AgentHarness, tmp_path: Path) -> None:
    """Case 87: refused where the turn is decided, before the CLI has seen it; the next call of the run is served."""
    big = use("mcp__runner__Write", file_path="big.txt", content="x" * 2_000_000)
    small = use("Glob", pattern="*")

    async def main(at: AtDesk) -> Any:
        talk = await agent.converse([big], [small], [text("bye")], gate=at.desk, desk=at.desk, profile=at.profile)
        return talk, await at.calls(), await at.queue()

    (tmp_path / "desk").mkdir()
    with at_desk(tmp_path / "desk") as at:
        talk, calls, queue = asyncio.run(main(at))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert talk.end.said == "bye"
    assert [(call.tool, call.verdict.value) for call in calls] == [("Write", "deny"), ("Glob", "allow")]
    assert queue == ()
    assert "more than a person can review" in talk.results(1)[0]
    assert [request["input"]["tool_input"] for request in talk.asked("hook_callback")] == [{}, {"pattern": "*"}]
    assert max(len(json.dumps(frame)) for frame in talk.heard) < 1024 * 1024


def test_a_write_waits_is_approved_and_told_once_over_the_real_cli(agent: AgentHarness, tmp_path: Path) -> None:
    """P11, invariant 13: hook, callback and handler of one call, each answered from the one row."""
    wanted = use("mcp__runner__Write", file_path="o.txt", content="x")

    async def person(at: AtDesk) -> None:
        while not (rows := await at.queue()):  # noqa: ASYNC110 -- rows ring no bell
            await asyncio.sleep(0.02)
        await at.carry_out(rows[0], "Created /workspace/o.txt: 1 bytes written.")

    async def main(at: AtDesk) -> Any:
        asked = asyncio.create_task(person(at))
        talk = await agent.converse([wanted], [text("bye")], gate=at.desk, desk=at.desk, profile=at.profile)
        await asked
        return talk, await at.queue()

    (tmp_path / "desk").mkdir()
    with at_desk(tmp_path / "desk") as at:
        talk, (row,) = asyncio.run(main(at))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert (row.state, row.delivered_at is not None) == (ApprovalState.DONE, True)
    assert talk.results()[0].count("Created /workspace/o.txt: 1 bytes written.") == 1
    assert talk.gateway.failure is None


class ClosesInput(Tap):
    """Closes the CLI's stdin when the first hook asks."""

    async def receive(self) -> Any:
        chunk = await super().receive()
        if any(frame["type"] == "control_request" and "hook_0" in json.dumps(frame) for frame in self.heard):
            await self.end_input()
        return chunk


def test_input_that_ends_while_a_call_waits_runs_nothing_and_ends_the_run(agent: AgentHarness) -> None:
    """Cases 76, 77; sdk.md §5: the CLI takes it for a refusal and may end with success, which is its word only."""
    (agent.snapshot / "in.txt").write_text("INSIDE-DATA\n")
    gate = RecordingGate(hook=asyncio.Event())
    talk = agent.talk([use("Read", file_path="in.txt")], [text("bye")], gate=gate, tap=ClosesInput)
    assert isinstance(talk.end, SessionEnd | AgentProtocolError)
    assert "INSIDE-DATA" not in json.dumps(talk.requests)
    assert [door for door, _, _ in gate.asked] == ["ask"]


def test_a_denial_is_told_with_its_reason_and_the_run_goes_on(agent: AgentHarness) -> None:
    """R40, P12."""
    gate = RecordingGate(hook=Answer(allowed=False, reason='Refused: "a" & <b>\n\u2028 not today'))
    talk = agent.talk([use("Glob", pattern="*")], [text("bye")], gate=gate)
    assert isinstance(talk.end, SessionEnd), talk.end
    assert "not today" in talk.results()[0]


def test_a_container_that_is_killed_under_a_waiting_call_ends_the_run_by_its_name(agent: AgentHarness) -> None:
    """Case 64, L10: the conductor parks on this error and on no other kind."""
    gate = RecordingGate(hook=asyncio.Event())

    async def main() -> Any:
        boxes: list[Box] = []

        def tap(box: Box) -> Tap:
            boxes.append(box)
            return Tap(box)

        talking = asyncio.create_task(agent.converse([use("Glob", pattern="*")], gate=gate, tap=tap))
        await gate.waiting.wait()
        await agent.engine.kill(boxes[0].container_id)
        return await talking

    talk = asyncio.run(main())
    assert isinstance(talk.end, AgentProtocolError)
    assert gate.cancelled == 1
