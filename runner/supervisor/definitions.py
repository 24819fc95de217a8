"""How the CLI of an image describes its own tools to a model: found out once, when the image is built (design.md §2.4).

Owns that record, and the reading of it. The CLI is asked in a container like any agent's, with a model that only listens; it
words its tools by what it thinks of the model, so models of each kind are tried.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from runner.agent import Answer, Message, Outcome, Session, Start, argv, container_tools, environment
from runner.digest import objects
from runner.errors import SandboxError
from runner.fence import Fenced
from runner.gateway import Gateway, Handover, ModelTurn, Reference, ScriptedUpstream, ToolResult, Upstream, definition
from runner.model import Digest, Json, JsonObject, Profile, RunId
from runner.policy.catalogue import TOOLS, Place, model_name
from runner.profiles import parse
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import LaunchOrder, Mounts, launch

#: One model of each kind the CLI words its tools for: those it has known for long, those of its own time, one of no name.
MODELS = ("claude-haiku-4-5", "claude-sonnet-5", "a-model-of-no-name")
_UID = 10001
_PROFILE = """schema = 1
name = "definitions"
description = "How the CLI describes its tools"
kind = "claude-sdk"
model = "{model}"
system_prompt = "Say nothing."
cwd = "{cwd}"
tools = [{tools}]
"""


def known(image: ImageInfo) -> Mapping[str, frozenset[Digest]]:
    """Every tool under its model's name → digests of the definitions it may have in an image's runs.

    Raises:
        SandboxError: It is not on record for this image.
    """
    try:
        recorded: JsonObject = json.loads(image.definitions)
        own = {name: frozenset(Digest(str(each)) for each in digests) for name, digests in recorded.items()}  # type: ignore[union-attr]
    except (ValueError, AttributeError, TypeError):
        raise SandboxError(
            "cannot start the run: how the image's CLI describes its tools is not on record", resolution="runner image build"
        ) from None
    return {**own, **{model_name(name): frozenset({_offered(name)}) for name in _brokered()}}


async def record(engine: Engine, image: ImageInfo, *, owner: str) -> str:
    """Ask the CLI of an image; the answer is the text for `ImageInfo.definitions`.

    Args:
        engine: The engine.
        image: The image.
        owner: Names whose containers these are, for whoever has to remove one.

    Raises:
        SandboxError: It does not say, or a container could not be had.
    """
    with tempfile.TemporaryDirectory(prefix="runner-definitions-") as folder:
        heard = await asyncio.gather(
            *(_heard(engine, image, Path(folder) / model, model=model, owner=owner) for model in MODELS)
        )
    found: dict[str, set[Digest]] = {}
    for tool in (tool for tools in heard for tool in tools):
        found.setdefault(str(tool["name"]), set()).add(definition(tool))
    if missing := {name for name, tool in TOOLS.items() if tool.place is Place.CONTAINER and tool.available} - found.keys():
        raise SandboxError(f"cannot use the image: its CLI does not offer {', '.join(sorted(missing))}")
    return json.dumps({name: sorted(digests) for name, digests in sorted(found.items())})


@dataclass(slots=True)
class _Listener:
    """A model that notes what it is asked and says a word."""

    said: Upstream
    requests: list[JsonObject] = field(default_factory=list)

    def send(
        self, request: JsonObject, *, betas: tuple[str, ...] = ()
    ) -> AbstractAsyncContextManager[AsyncIterator[JsonObject]]:
        self.requests.append(request)
        return self.said.send(request, betas=betas)

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        return await self.said.count_tokens(request, betas=betas)

    async def aclose(self) -> None:
        await self.said.aclose()


class _Nobody:
    """Desk and gate of a conversation in which nothing is called."""

    async def open_request(self) -> None:
        """Any request may go out: it goes nowhere."""

    async def open_count(self) -> None:
        """Nothing is read that could be counted."""

    async def take_turn(self, turn: ModelTurn) -> tuple[Handover, ...]:
        """The listener calls nothing."""
        return tuple(Handover(name=use.name, raw=use.raw) for use in turn.tool_uses)

    async def check_results(self, results: Sequence[ToolResult]) -> None:
        """There are none."""

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Nothing may be done."""
        del name, arguments
        return Answer(allowed=False, reason="refused: nothing is done here")

    confirm = ask

    async def outcome(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """Nothing was done."""
        del name, arguments
        return Outcome(text="refused: nothing was done", is_error=True)

    async def mirror(self, entries: Sequence[str]) -> None:
        """Nobody goes on with this conversation."""


async def _heard(engine: Engine, image: ImageInfo, folder: Path, *, model: str, owner: str) -> list[JsonObject]:
    """The tools of the first request that a CLI makes for `model`."""
    profile = _profile(folder, model)
    nobody, listener = _Nobody(), _Listener(ScriptedUpstream(()))
    start = Start(profile=profile, session_id=str(uuid.uuid4()), system_prompt=profile.system_prompt)
    order = LaunchOrder(
        run=RunId(f"r_definitions{secrets.token_hex(4)}"),
        segment=0,
        attempt=0,
        agent=profile.name,
        profile_digest=profile.digest,
        uid=_UID,
        image=image,
        argv=argv(start),
        environment=environment(),
        mounts=Mounts(snapshot=folder / "snapshot", gateway=folder / "gateway"),
        limits=profile.limits,
        owner=owner,
    )
    reference = Reference(model=model, offered=frozenset(container_tools(profile)))
    gateway = Gateway(directory=folder / "gateway", desk=nobody, reference=reference, upstream=listener)
    await gateway.start()
    try:
        box = await launch(engine, order, on_created=_unrecorded)
        try:
            await Session(box, start, gate=nobody, mirror=nobody.mirror).run(Message(text=Fenced("go")))
        finally:
            await box.destroy()
    finally:
        await gateway.stop()
    tools = listener.requests[0].get("tools") if listener.requests else None
    return objects(tools)


async def _unrecorded(_container: str) -> None:
    """No run is behind it; the label says whose it is."""


def _profile(folder: Path, model: str) -> Profile:
    for name in ("cwd", "snapshot", "gateway"):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(0o755)
    tools = ", ".join(f'"{name}"' for name, tool in TOOLS.items() if tool.place is Place.CONTAINER and tool.available)
    return parse(_PROFILE.format(model=model, cwd=folder / "cwd", tools=tools), base=folder)


def _brokered() -> list[str]:
    return [name for name, tool in TOOLS.items() if tool.place is Place.BROKER and tool.available]


def _offered(name: str) -> Digest:
    tool = TOOLS[name]
    return definition({"name": model_name(name), "description": tool.told, "input_schema": tool.json_schema()})
