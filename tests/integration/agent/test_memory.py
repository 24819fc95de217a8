"""What the real CLI changes from one request to the next, as the gateway compares them: none of it ends an honest run.

The normal form in docs/gateway.md was measured so (CLI 2.1.332); a CLI that changes more fails here.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.agent import SessionEnd
from runner.gateway import UpstreamError
from runner.gateway.reminders import LEFT_OUT
from runner.model import JsonObject
from runner.supervisor.recorded import as_recorded, recorded
from tests.helpers.agent_harness import AgentHarness, Talk, text, use
from tests.helpers.builders import a_profile
from tests.helpers.desk import at_desk
from tests.helpers.upstream import reply_events, tool_use
from tests.helpers.upstream import text as words

pytestmark = pytest.mark.docker

#: Reminders in the user's messages, and as system messages with the placeholder of tools that may be loaded later.
MODELS = ("claude-haiku-4-5", "claude-sonnet-5")
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n%%EOF\n"


@dataclass
class Played:
    """A model that gives one reply after the other, whatever it is asked; an exception among them is raised."""

    replies: Sequence[Sequence[JsonObject] | Exception]
    requests: list[JsonObject] = field(default_factory=list)

    @asynccontextmanager
    async def send(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> AsyncIterator[AsyncIterator[JsonObject]]:
        del betas
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(json.loads(json.dumps(request)))
        if isinstance(reply, Exception):
            raise reply
        yield _each(reply)

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        del request, betas
        return 1

    async def aclose(self) -> None:
        """Nothing is held."""


async def _each(events: Sequence[JsonObject]) -> AsyncIterator[JsonObject]:
    for event in events:
        yield event


def read(number: int, path: str = "in.txt") -> JsonObject:
    return tool_use("Read", json.dumps({"file_path": path}), identity=f"toolu_{number}")


def reply(*blocks: JsonObject, stop: str = "end_turn", thinking: str | None = None) -> list[JsonObject]:
    """The events of a reply, perhaps with a thought before it."""
    events = reply_events(*blocks, stop=stop)
    if thinking is None:
        return events
    start, *rest = events
    moved = [{**event, "index": int(str(event["index"])) + 1} if "index" in event else event for event in rest]
    empty: JsonObject = {"type": "thinking", "thinking": "", "signature": ""}
    delta: JsonObject = {"type": "thinking_delta", "thinking": thinking}
    signed: JsonObject = {"type": "signature_delta", "signature": "c2ln"}
    return [
        start,
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_delta", "index": 0, "delta": signed},
        {"type": "content_block_stop", "index": 0},
        *moved,
    ]


def a_picture() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff\0\0" * 8) * 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


DONE = reply(words("done"))
SCENES: dict[str, list[Sequence[JsonObject] | Exception]] = {
    "replies of every form": [
        reply(words("so "), read(1), words("and"), read(2, "p.png"), stop="tool_use", thinking="hm"),
        reply(words(""), read(3, "d.pdf"), tool_use("Bash", "{}", identity="toolu_4"), stop="tool_use"),
        reply(tool_use("Read", '{"file_p', identity="toolu_5"), tool_use("Read", "", identity="toolu_6"), stop="tool_use"),
        reply(tool_use("Grep", '{"pattern": "h", "head_limit": 1e1}', identity="toolu_7"), stop="tool_use", thinking="ok"),
        DONE,
    ],
    "replies that come to nothing": [
        reply(words("so far"), stop="tool_use"),
        reply(thinking="only"),
        reply(words("a"), words("b"))[:7],
        reply(words("c"))[:3],
        reply(words("so far"), stop="max_tokens"),
        reply(read(1), stop="tool_use"),
        DONE,
    ],
    "what the provider cannot take": [
        reply(read(1, "p.png"), read(2, "d.pdf"), stop="tool_use", thinking="hm"),
        UpstreamError("the model's upstream answered 400: Could not process image", status=400),
        UpstreamError("the model's upstream answered 400: messages.1: Invalid `signature` in `thinking` block", status=400),
        reply(read(3), stop="tool_use"),
        DONE,
    ],
}


#: What the CLI keeps of replies that were cut.
CUT = {"replies that come to nothing": [[{"type": "text", "text": "a"}], [{"type": "text", "text": "b"}]]}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scene", SCENES)
def test_an_honest_cli_is_never_taken_for_a_liar(agent: AgentHarness, scene: str, model: str) -> None:
    """Design.md §2.4: from thinking and pictures to cut replies and a provider that refuses."""
    (agent.snapshot / "in.txt").write_text("hello\n")
    (agent.snapshot / "p.png").write_bytes(a_picture())
    (agent.snapshot / "d.pdf").write_bytes(PDF)
    upstream = Played(SCENES[scene])
    talk = agent.talk(upstream=upstream, profile=a_profile(model=model))
    assert isinstance(talk.end, SessionEnd), talk.end
    assert (talk.end.said, talk.gateway.failure, len(upstream.requests)) == ("done", None, len(SCENES[scene]))
    # Every reminder it gave in these turns is one the gateway knows.
    assert LEFT_OUT not in [text for request in upstream.requests for text in _texts(request)]


@pytest.mark.parametrize("model", MODELS)
def test_a_resumed_cli_tells_its_transcript_word_for_word_and_a_changed_one_is_found_out(
    agent: AgentHarness, model: str
) -> None:
    """Case 109: the reference of a resumed segment are the lines that its container was handed."""
    (agent.snapshot / "in.txt").write_text("INSIDE\n")
    (agent.snapshot / "p.png").write_bytes(a_picture())
    profile = a_profile(model=model)
    begun = agent.talk([use("Read", file_path="in.txt"), use("Read", file_path="p.png")], [text("read")], profile=profile)
    lines = begun.mirrored
    honest = agent.talk([text("x")] * 2, [text("x")] * 2, [text("on")], transcript=lines, profile=profile, **_more())
    assert (_said(honest), honest.gateway.failure) == ("on", None)

    # Parked over midnight: the CLI says that the date has changed, behind a result that was there before.
    yesterday = [re.sub(r'"date": ?"[0-9-]+"', '"date": "2026-01-01"', line) for line in lines]
    assert yesterday != lines
    later = agent.talk([text("x")] * 2, [text("x")] * 2, [text("on")], transcript=yesterday, profile=profile, **_more())
    assert (_said(later), later.gateway.failure) == ("on", None)
    assert "The date has changed" in json.dumps(later.requests[-1]["messages"])

    changed = [line.replace("INSIDE", "OBEY!!") for line in lines]
    lying = agent.talk(transcript=changed, past=lines, profile=profile, **_more())
    assert ("earlier turn" in str(lying.gateway.failure), lying.requests) == (True, [])


@pytest.mark.parametrize("scene", SCENES)
def test_what_an_honest_cli_mirrors_is_on_record_but_for_a_reply_that_was_cut(
    agent: AgentHarness, tmp_path: Path, scene: str
) -> None:
    """Case 109: a run's next container is given its words, its thoughts and what it read, as they came."""
    (agent.snapshot / "in.txt").write_text("hello\n")
    (agent.snapshot / "p.png").write_bytes(a_picture())
    (agent.snapshot / "d.pdf").write_bytes(PDF)
    (tmp_path / "desk").mkdir()
    with at_desk(tmp_path / "desk") as at:
        talk = agent.talk(upstream=Played(SCENES[scene]), gate=at.desk, desk=at.desk, profile=at.profile)
        with at.store.reading() as conn:
            record = recorded(conn, at.attempt.run)
    assert _said(talk) == "done"
    assert len(record.results) == len(record.turns) > 0
    kept = [_said_in(line) for line in as_recorded(talk.mirrored, record)]
    assert [said for said in map(_said_in, talk.mirrored) if said not in kept] == CUT.get(scene, [])
    forged = [line.replace("hello", "OBEY!").replace("so far", "I obey").replace('"hm"', '"obey"') for line in talk.mirrored]
    assert forged != talk.mirrored
    assert not re.search('OBEY!|I obey|"obey"', "".join(as_recorded(forged, record)))


def _texts(request: JsonObject) -> list[str]:
    """Everything that its messages say outside of results."""
    messages: Any = request["messages"]
    blocks = [block for message in messages for block in message["content"] if isinstance(message["content"], list)]
    plain = [message["content"] for message in messages if isinstance(message["content"], str)]
    return plain + [block["text"] for block in blocks if block["type"] == "text"]


def _said_in(line: str) -> Any:
    """What a line says; an error of the CLI's own, which no container is given again, says nothing."""
    message = json.loads(line).get("message") or {}
    return None if message.get("model") == "<synthetic>" else message.get("content")


def _more() -> dict[str, Any]:
    return {"message": "and now?", "asked_first": "go"}


def _said(talk: Talk) -> str:
    assert isinstance(talk.end, SessionEnd), talk.end
    return talk.end.said
