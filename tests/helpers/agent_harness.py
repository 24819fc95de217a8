"""One conversation with the real CLI in a real container: real gateway and session, a model that follows a script.

Everything that crosses is noted, in both directions. Whoever sits at gate and desk is the test's choice.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from runner.agent import Gate, Message, Session, SessionEnd, Start, argv, brokered_tools, container_tools, environment
from runner.errors import RunnerError
from runner.fence import Fenced
from runner.gateway import (
    Asked,
    Conversation,
    Expected,
    Gateway,
    Handover,
    Reference,
    Residents,
    ScriptedUpstream,
    ToolUse,
    TurnDesk,
    Upstream,
    picture,
)
from runner.gateway.scripted import Entry
from runner.model import JsonObject, Profile
from runner.policy.catalogue import model_name
from runner.sandbox.box import Box, Chunk
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import Mounts, launch
from runner.supervisor.definitions import known
from tests.helpers.agent_gate import SESSION, Kept, RecordingGate
from tests.helpers.builders import a_profile
from tests.helpers.gateway import Desk
from tests.helpers.sandbox_fixtures import an_order

Turn = Sequence[JsonObject]


def text(words: str) -> JsonObject:
    """A text block of a scripted turn."""
    return {"type": "text", "text": words}


def use(name: str, **arguments: Any) -> JsonObject:
    """A tool use of a scripted turn, under the name the model sees."""
    return {"type": "tool_use", "name": name, "input": arguments}


class Tap:
    """A box whose lines are noted as they cross."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._cut = b""
        self.heard: list[JsonObject] = []  #: frames of the CLI
        self.sent: list[JsonObject] = []  #: lines of the host, each of which must be JSON (case 94)

    async def send(self, data: bytes) -> None:
        self.sent += [json.loads(line) for line in data.splitlines()]
        await self._box.send(data)

    async def receive(self) -> Chunk | None:
        chunk = await self._box.receive()
        if chunk is not None and chunk.stream == "out":
            *lines, self._cut = (self._cut + chunk.data).split(b"\n")
            self.heard += [json.loads(line) for line in lines if line]
        return chunk

    async def end_input(self) -> None:
        await self._box.end_input()

    async def exit_code(self, timeout: float) -> int | None:  # noqa: ASYNC109 -- the seam's signature
        return await self._box.exit_code(timeout)

    async def destroy(self) -> None:
        await self._box.destroy()


class Heard(Upstream, Protocol):
    """A model that notes what it is asked."""

    @property
    def requests(self) -> list[JsonObject]:
        """Every request, as it was forwarded."""
        ...


@dataclass
class Noted:
    """A scripted model that notes what it is asked."""

    inner: ScriptedUpstream
    requests: list[JsonObject] = field(default_factory=list)

    def send(
        self, request: JsonObject, *, betas: tuple[str, ...] = ()
    ) -> AbstractAsyncContextManager[AsyncIterator[JsonObject]]:
        self.requests.append(json.loads(json.dumps(request)))
        return self.inner.send(request, betas=betas)

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        return await self.inner.count_tokens(request, betas=betas)

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass(frozen=True, kw_only=True)
class Talk:
    """What a conversation came to."""

    end: SessionEnd | RunnerError
    heard: list[JsonObject]
    sent: list[JsonObject]
    requests: list[JsonObject]
    mirrored: list[str]
    gateway: Gateway

    @property
    def init(self) -> Any:
        """How the CLI says it started."""
        return next(frame for frame in self.heard if frame.get("subtype") == "init")

    def results(self, request: int = -1) -> list[str]:
        """Every tool result in a model request, as text."""
        messages: Any = self.requests[request]["messages"]
        blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
        return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]

    def asked(self, subtype: str) -> list[Any]:
        """The CLI's requests of one kind."""
        found: list[Any] = [frame["request"] for frame in self.heard if frame["type"] == "control_request"]
        return [request for request in found if request["subtype"] == subtype]


@dataclass
class AgentHarness:
    """Where conversations are held. `snapshot` is what the agent sees as its directory."""

    engine: Engine
    image: ImageInfo
    folder: Path

    def __post_init__(self) -> None:
        """Make the folders."""
        self.snapshot = self.folder / "snapshot"
        self.snapshot.mkdir(mode=0o755)

    def talk(self, *turns: Turn, gate: Gate | None = None, **more: Any) -> Talk:
        """One conversation; see `converse`."""
        return asyncio.run(self.converse(*turns, gate=gate or RecordingGate(), **more))

    async def converse(
        self,
        *turns: Turn,
        gate: Gate,
        desk: TurnDesk | None = None,
        profile: Profile | None = None,
        message: Message | str = "go",
        start: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda line: line,
        variables: Mapping[str, str] | None = None,
        tap: Callable[[Box], Tap] = Tap,
        transcript: Sequence[str] | None = None,
        asked_first: str | None = "",
        upstream: Heard | None = None,
        past: Sequence[str] | None = None,
    ) -> Talk:
        """Launch, talk to the end, remove.

        Args:
            turns: What the model says.
            gate: Answers hook, callback and handler.
            desk: Takes the gateway's turns; by default one that declares the profile's tools.
            profile: Whose tools are offered.
            message: What is asked.
            start: Changes the CLI's arguments.
            variables: In place of the CLI's environment.
            tap: Stands between session and box.
            transcript: Lines of a session that goes on; None begins a new one.
            asked_first: What the gateway compares the first prompt with; "": the message; None: it compares nothing. Where a
                transcript goes on, the message comes behind it.
            upstream: The model, in place of `turns`.
            past: What the gateway takes the transcript to be; by default what it is.
        """
        chosen = profile or a_profile()
        asked = Message(text=Fenced(message)) if isinstance(message, str) else message
        offered = frozenset((*container_tools(chosen), *(model_name(name) for name in brokered_tools(chosen))))
        upstream = upstream or Noted(ScriptedUpstream(tuple(Entry(blocks=tuple(turn)) for turn in turns)))
        begin = Start(profile=chosen, session_id=SESSION, system_prompt="You are tested.", resume=transcript is not None)
        mounts = Mounts(
            snapshot=self.snapshot,
            gateway=self.folder / "gateway",
            session=None if transcript is None else self._written(transcript),
        )
        order = an_order(
            self.folder,
            self.image,
            *start(argv(begin)),
            environment=environment() if variables is None else variables,
            mounts=mounts,
        )
        conversation = _conversation(asked, asked_first or asked.text, past or transcript or ())
        expected = Expected(system=begin.system_prompt, definitions=known(self.image), conversation=conversation)
        reference = Reference(model=chosen.model, offered=offered, expected=None if asked_first is None else expected)
        residents = Residents()
        gateway = Gateway(
            directory=self.folder / "gateway",
            desk=desk or Desk(hand=declared(offered)),
            reference=reference,
            upstream=upstream,
            peers=residents,
        )
        await gateway.start()
        try:
            box = await launch(self.engine, order, on_created=_ignored)
            residents.are_of(box.container_id)
            try:
                stream, kept = tap(box), Kept()
                end = await _ended(Session(stream, begin, gate=gate, mirror=kept), asked)
            finally:
                await box.destroy()
        finally:
            await gateway.stop()
        return Talk(
            end=end, heard=stream.heard, sent=stream.sent, requests=upstream.requests, mirrored=kept.lines, gateway=gateway
        )

    def _written(self, transcript: Sequence[str]) -> Path:
        folder = self.folder / "session"
        folder.mkdir(exist_ok=True, mode=0o755)
        (folder / f"{SESSION}.jsonl").write_text("".join(f"{line}\n" for line in transcript))
        return folder


def declared(offered: frozenset[str]) -> Callable[[ToolUse], Handover]:
    """Hand over as the supervisor does: what is not offered gets a name no CLI has."""
    return lambda tool: Handover(name=tool.name if tool.name in offered else f"undeclared__{tool.name}", raw=tool.raw)


@pytest.fixture
def agent(engine: Engine, sandbox_image: ImageInfo, tmp_path: Path) -> AgentHarness:
    """A harness over a folder of its own."""
    return AgentHarness(engine, sandbox_image, tmp_path)


def _conversation(message: Message, first: str, transcript: Sequence[str]) -> Conversation:
    """What the gateway has to find: the first prompt, then the message, where that is another."""
    pictures = tuple(picture(base64.standard_b64encode(image.data).decode()) for image in message.images)
    later = (Asked(text=message.text),) if message.text != first else ()
    prompts = (Asked(text=first, pictures=() if later else pictures), *later)
    past = tuple(json.loads(line) for line in transcript if line.startswith("{"))
    return Conversation(prompts=prompts, past=past, readers=frozenset({"Read"}))


async def _ended(session: Session, message: Message) -> SessionEnd | RunnerError:
    try:
        return await session.run(message)
    except RunnerError as error:
        return error


async def _ignored(_container: str) -> None:
    """Nothing is bound to this container."""
