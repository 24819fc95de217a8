"""Generated runs: turns of any shape, decisions and interruptions in any order, and what must hold of them afterwards."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.model import JsonObject
from tests.helpers.upstream import text, tool_use

WRITE, EDIT = "mcp__runner__Write", "mcp__runner__Edit"


@dataclass
class Call:
    """One call of a script; `path` is the file a gated one changes."""

    kind: str
    name: str
    arguments: JsonObject
    identity: str
    path: str = ""
    verdict: str = ""  #: approve or deny, for a gated one

    def block(self) -> JsonObject:
        """The model's tool use."""
        return tool_use(self.name, json.dumps(self.arguments), identity=self.identity)


@dataclass
class Run:
    """A script with everything that will happen to it, all from one seed."""

    seed: int
    cwd: Path
    odd: random.Random = field(init=False)
    turns: list[list[Call]] = field(init=False)
    hold: str = field(init=False)
    kill: bool = field(init=False)  #: the container is killed once while calls wait
    id: str = ""

    def __post_init__(self) -> None:
        """Draw."""
        self.odd = random.Random(self.seed)
        self.hold = self.odd.choice(["0s", "0s", "1s", "50s"])
        self.kill = self.hold == "50s" and self.odd.random() < 0.7
        self._ids = iter(range(10**6))
        self.turns = [self._turn() for _ in range(self.odd.randint(1, 3))]

    @property
    def name(self) -> str:
        """Of its agent, and with `model-` before it of its model."""
        return f"turns-{self.seed}"

    @property
    def script(self) -> list[list[JsonObject]]:
        """The model's turns."""
        spoken = [[text("Let me see."), *(call.block() for call in turn)] for turn in self.turns]
        return [*spoken, [text(f"Finished {self.seed}.")]]

    @property
    def gated(self) -> list[Call]:
        """The calls a person is asked about, in order."""
        return [call for turn in self.turns for call in turn if call.verdict]

    def _turn(self) -> list[Call]:
        kinds = ["read", "read", "glob", "outside", "undeclared", "write", "write", "write", "edit", "twin"]
        calls = [self.call(self.odd.choice(kinds)) for _ in range(self.odd.randint(1, 4))]
        if not any(call.verdict for call in calls) and self.odd.random() < 0.7:
            calls.insert(self.odd.randint(0, len(calls)), self.call("write"))
        twins = [self._again(call) for call in calls if call.kind == "twin"]
        return [*calls, *twins]

    def call(self, kind: str) -> Call:
        """A call of that kind."""
        number = next(self._ids)
        identity = self.odd.choice([f"toolu_{self.seed}_{number}", f"toolu_again_{number % 2}"])
        verdict = self.odd.choice(["approve", "approve", "approve", "deny"])
        match kind:
            case "read":
                return Call(kind, "Read", {"file_path": "/workspace/in.txt"}, identity)
            case "glob":
                return Call(kind, "Glob", {"pattern": "*.txt"}, identity)
            case "outside":
                return Call(kind, "Read", {"file_path": "/workspace/../secret.txt"}, identity)
            case "undeclared":
                return Call(kind, "Bash", {"command": "cat /etc/passwd"}, identity)
            case "edit":
                (self.cwd / f"e{number}.txt").write_text("x\n")
                change: JsonObject = {"file_path": f"e{number}.txt", "old_string": "x", "new_string": "xx"}
                return Call(kind, EDIT, change, identity, f"e{number}.txt", verdict)
            case _:
                new: JsonObject = {"file_path": f"w{number}.txt", "content": f"{number}\n"}
                return Call(kind, WRITE, new, identity, f"w{number}.txt", verdict)

    def _again(self, call: Call) -> Call:
        """The very same call once more, under another id."""
        return Call("twin", call.name, call.arguments, f"toolu_twin_{next(self._ids)}", call.path, "deny")


def check_conversation(run: Run, asked: Sequence[Sequence[Mapping[str, Any]]], shown: Mapping[str, Any]) -> None:
    """Every request the model got answers every call it had made, once each, with what is on record."""
    recorded = [call for call in shown["calls"] if call["turn"] > 0]
    expected = [call for turn in run.turns for call in turn]
    assert [call["tool"] for call in recorded] == [call.name.removeprefix("mcp__runner__") for call in expected], run.seed
    assert asked, run.seed
    for messages in asked:
        replies = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
        assert len(replies) <= len(run.turns), (run.seed, messages)
        at = 0
        for turn, index in zip(run.turns, replies, strict=False):
            uses = [block for block in messages[index]["content"] if block["type"] == "tool_use"]
            made = [(use["name"], use["input"]) for use in uses]
            assert made == [(call.name, call.arguments) for call in turn], (run.seed, run.turns, messages)
            ids = [str(use["id"]) for use in uses]
            check_results(run, zip(turn, ids, recorded[at : at + len(turn)], strict=True), messages[index + 1])
            at += len(turn)
    assert len([m for m in asked[-1] if m["role"] == "assistant"]) == len(run.turns), run.seed


def check_results(run: Run, turn: Iterable[tuple[Call, str, Mapping[str, Any]]], message: Mapping[str, Any]) -> None:
    """One result for each call of a turn; of a gated one what its record says."""
    assert message["role"] == "user"
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    texts = {one["tool_use_id"]: first_text(one) for one in results}
    made = list(turn)
    assert len(results) == len(texts), (run.seed, results)
    assert texts.keys() == {wire_id for _, wire_id, _ in made}, (run.seed, results)
    for call, wire_id, record in made:
        said = texts[wire_id]
        if call.verdict:
            assert record["outcome"].strip() in said, (run.seed, call, record, said)
        elif call.kind == "undeclared":
            assert "Bash" in said or "no such tool" in said, (run.seed, said)
        elif call.kind == "outside":
            assert "secret" not in said.lower() or "refused" in said.lower(), (run.seed, said)


def first_text(result: Mapping[str, Any]) -> str:
    """The first text of a tool result."""
    content = result.get("content") or ""
    return content if isinstance(content, str) else next((str(part["text"]) for part in content if "text" in part), "")


def check_effects(run: Run, approvals: Sequence[Mapping[str, Any]]) -> None:
    """Every effect that is done happened once, and nothing else did."""
    assert len(approvals) == len(run.gated), run.seed
    files = {path.name: path.read_text() for path in run.cwd.iterdir() if path.name != "in.txt"}
    wanted: dict[str, str] = {f: "x\n" for f in files if f.startswith("e")}
    for call, approval in zip(run.gated, approvals, strict=True):
        events = Counter(event["event"] for event in approval["history"])
        assert events["approval.execute"] <= 1, (run.seed, approval)
        if approval["state"] == "done":
            assert call.verdict == "approve"
            wanted[call.path] = "xx\n" if call.kind == "edit" else str(call.arguments["content"])
        elif call.verdict == "deny":
            assert approval["state"] == "denied", (run.seed, approval)
        else:
            assert approval["state"] == "stale", (run.seed, approval)
    assert files == wanted, run.seed
