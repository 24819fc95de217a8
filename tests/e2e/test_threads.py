"""A conversation that the owner continues, over a real supervisor, engine and CLI (issue 8 item 3, design.md §6)."""

from __future__ import annotations

import itertools
import json
from typing import Any, cast

import pytest

from runner.model import JsonObject
from tests.helpers.supervisor_process import SupervisorProcess
from tests.helpers.upstream import Answer, UpstreamDouble, reply_events, sse, text, tool_use

pytestmark = pytest.mark.docker

READ = json.dumps({"file_path": "/workspace/in.txt"})
WRITE = json.dumps({"file_path": "out.txt", "content": "SUM"})
_numbers = itertools.count(1)


def answers(*blocks: JsonObject) -> Answer:
    """A reply under a message id of its own, as a provider gives one."""
    return Answer(pieces=(sse(*reply_events(*blocks, message=f"msg_{next(_numbers)}")),))


def talk(double: UpstreamDouble, number: int = -1) -> list[tuple[str, str]]:
    """What a request says, without the CLI's reminders: who, and the text, the call or the result."""
    body: Any = cast("dict[str, Any]", double.seen[number].body)
    found = []
    for message in body["messages"]:
        blocks = message["content"]
        for block in [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks:
            said = block.get("text") or block.get("name") or json.dumps(block.get("content"))
            if not said.startswith("<system-reminder>"):
                found.append((message["role"], said))
    return found


def system(double: UpstreamDouble, number: int = -1) -> str:
    body: Any = cast("dict[str, Any]", double.seen[number].body)
    return str(body["system"][-1]["text"])


def sent(supervisor: SupervisorProcess, note: str, *more: str) -> dict[str, Any]:
    return dict(supervisor.ask("send", "tester", "--note", note, "--thread", "taxes", *more))


def said_by(double: UpstreamDouble, role: str) -> list[str]:
    """What one side says in the last request; what the CLI notes when it is resumed is nobody's word."""
    return [what for who, what in talk(double) if who == role and what != "Continue from where you left off."]


def test_a_second_capture_goes_on_where_the_first_one_ended_also_past_a_kill(supervisor: SupervisorProcess) -> None:
    """R56 for the owner's side; invariants 6, 8, 10, 11: fresh container, same conversation, taint along, own fences.

    The supervisor is killed while the second run waits for a person.
    """
    (supervisor.cwd / "in.txt").write_text("HELLO\n")
    double = UpstreamDouble([answers(text("I look."), tool_use("Read", READ)), answers(text("It says"), text("HELLO."))])
    with double.in_thread():
        supervisor.environment["RUNNER_MODEL"] = double.url
        supervisor.start()
        supervisor.publish()
        first = sent(supervisor, "look")
        assert first["thread"] == {"name": "taxes", "continues": None, "taint": []}
        assert supervisor.until(first["run"], "replied", "failed")["reply"] == "It says\nHELLO."
        # The call's id is the first one's: a provider's ids need not differ from one conversation to the next.
        double.answers[:] = [answers(tool_use("mcp__runner__Write", WRITE))]
        second = interrupted(supervisor, first["run"])
        double.answers[:] = [answers(text("Summed up."))]
        assert supervisor.approve(supervisor.queue(second)[0]).returncode == 0
        ended = supervisor.until(second, "replied", "failed")
        assert (ended["state"], ended["reply"], ended["strict"]) == ("replied", "Summed up.", True), supervisor.log
        double.answers[:] = [answers(text("You are welcome."))]
        third = supervisor.until(sent(supervisor, "thanks")["run"], "replied", "failed")
        assert third["reply"] == "You are welcome.", supervisor.log
    check_conversation(double)
    containers = [one["container"] for run in (first["run"], second, third["id"]) for one in supervisor.show(run)["segments"]]
    assert len(set(containers)) == len(containers) == 4
    (listed,) = supervisor.ask("threads")["threads"]
    assert (listed["name"], listed["runs"], listed["state"], listed["last"]) == ("taxes", 3, "replied", third["id"])


def interrupted(supervisor: SupervisorProcess, first: str) -> str:
    """The second run, held, the supervisor killed meanwhile; a third capture is refused, and the card says what came along."""
    second = sent(supervisor, "sum it up", "--url", "https://example.org/page")
    assert second["thread"]["continues"] == first
    assert [one["says"] for one in second["thread"]["taint"]] == ["results of Read"]
    supervisor.until(second["run"], "held", "failed")
    supervisor.kill()
    supervisor.start()
    busy = supervisor.run("send", "tester", "--note", "and", "--thread", "taxes")
    assert (busy.returncode, f"run {second['run']} is under way" in busy.stderr) == (7, True)
    card = supervisor.run("show", str(supervisor.queue(second["run"])[0]["id"])).stdout
    assert f"taxes, continues {first}; from outside came along: results of Read" in card
    return str(second["run"])


def check_conversation(double: UpstreamDouble) -> None:
    """The third run's model sees both exchanges before its own prompt, each block under its own fence."""
    asked = said_by(double, "user")
    prompts = [asked[0], asked[2], asked[4]]
    assert [prompt.splitlines()[0] for prompt in prompts] == ["look", "sum it up", "thanks"]
    assert "https://example.org/page" in prompts[1]
    assert ("HELLO" in asked[1], "Created /workspace/out.txt" in asked[3]) == (True, True)
    words = ["I look.", "Read", "It says\nHELLO.", "mcp__runner__Write", "Summed up."]
    assert said_by(double, "assistant") == words
    fences = [prompt.partition('fence="')[2].partition('"')[0] for prompt in prompts]
    assert len(set(fences)) == 3
    rule = system(double)
    assert f'Only a marker with fence="{fences[2]}" opens or closes the block' in rule
    assert f'fence="{fences[0]}", fence="{fences[1]}"' in rule
    assert system(double, 0).count("fence=") == 1
