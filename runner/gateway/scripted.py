"""The built-in scripted model: turn n of a conversation gets entry n of a file; past the end it says "done".

Owns the file's form (cli.md, `RUNNER_MODEL=scripted:FILE`). It needs no key and no network.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from runner.digest import MalformedJsonError, parse_strict
from runner.errors import SettingsError
from runner.model import Json, JsonObject

_MAX_BYTES = 16 * 1024 * 1024
_INPUT_TOKENS, _OUTPUT_TOKENS = 10, 5
_FIELDS = {"text": {"type", "text"}, "tool_use": {"type", "name", "input", "id"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One turn: its content blocks, and seconds to wait before the first of them."""

    blocks: tuple[JsonObject, ...]
    delay: float = 0.0


_DONE = Entry(blocks=({"type": "text", "text": "done"},))


class ScriptedUpstream:
    """A model that follows a script.

    Args:
        entries: One per assistant turn.
    """

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self._entries = entries

    @asynccontextmanager
    async def send(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> AsyncIterator[AsyncIterator[JsonObject]]:
        """Play the entry that the request's count of assistant messages names."""
        del betas
        turn = _assistant_messages(request)
        entry = self._entries[turn] if turn < len(self._entries) else _DONE
        await asyncio.sleep(entry.delay)
        yield _play(entry, str(request.get("model", "")))

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        """A constant: the script costs nothing."""
        del request, betas
        return _INPUT_TOKENS

    async def aclose(self) -> None:
        """Nothing is held."""


def read_scripts(path: Path) -> Mapping[str | None, tuple[Entry, ...]]:
    """A script file, checked: agent → entries; the key None is the script of every other agent.

    Raises:
        SettingsError: Unreadable, or not of the documented form; says where.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        _bad(path, f"cannot read it: {error.strerror}")
    if len(data) > _MAX_BYTES:
        _bad(path, f"it is over {_MAX_BYTES} bytes")
    try:
        value = parse_strict(data.decode())
    except (UnicodeDecodeError, MalformedJsonError) as error:
        _bad(path, str(error))
    if isinstance(value, dict):
        scripts = value.get("scripts")
        if value.keys() != {"scripts"} or not isinstance(scripts, dict):
            _bad(path, 'an object must hold "scripts" only, an object of agent → list')
        return {agent: _entries(path, f"scripts.{agent}", script) for agent, script in scripts.items()}
    return {None: _entries(path, "", value)}


def _entries(path: Path, where: str, value: Json) -> tuple[Entry, ...]:
    if not isinstance(value, list):
        _bad(path, f"{where or 'it'} is not a list of turns")
    return tuple(_entry(path, f"{where}[{index}]", item) for index, item in enumerate(value))


def _entry(path: Path, where: str, value: Json) -> Entry:
    delay: Json = 0.0
    if isinstance(value, dict):
        if not {"blocks"} <= value.keys() <= {"blocks", "delay"}:
            _bad(path, f'{where} must hold "blocks" and maybe "delay"')
        delay, value = value.get("delay", 0.0), value["blocks"]
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= 3600:
        _bad(path, f"{where}.delay is not a number of seconds")
    if not isinstance(value, list):
        _bad(path, f"{where} is not a list of content blocks")
    blocks = tuple(_block(path, f"{where}[{index}]", item) for index, item in enumerate(value))
    return Entry(blocks=blocks, delay=float(delay))


def _block(path: Path, where: str, value: Json) -> JsonObject:
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or kind not in ("text", "tool_use"):
        _bad(path, f'{where} is not a block of type "text" or "tool_use"')
    unknown = value.keys() - _FIELDS[str(kind)]
    if unknown:
        _bad(path, f"{where} has the unknown key {min(unknown)!r}")
    texts = ("text",) if kind == "text" else ("name",)
    if not all(isinstance(value.get(key), str) for key in texts) or not isinstance(value.get("id", ""), str):
        _bad(path, f"{where} lacks a text in {texts[0]!r}, or its id is none")
    if kind == "tool_use" and not isinstance(value.get("input"), dict):
        _bad(path, f"{where}.input is not an object")
    return value


def _bad(path: Path, why: str) -> NoReturn:
    raise SettingsError(
        f"cannot use the scripted model {path}: {why}",
        resolution='a script is a list of turns, each a list of {"type": "text"|"tool_use", …} blocks',
    )


def _assistant_messages(request: JsonObject) -> int:
    messages = request.get("messages")
    return (
        sum(isinstance(item, dict) and item.get("role") == "assistant" for item in messages)
        if isinstance(messages, list)
        else 0
    )


async def _play(entry: Entry, model: str) -> AsyncIterator[JsonObject]:
    usage: JsonObject = {"input_tokens": _INPUT_TOKENS, "output_tokens": 1}
    message: JsonObject = {
        "id": "msg_" + secrets.token_hex(12),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(entry.blocks):
        content, delta = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": content}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if any(block["type"] == "tool_use" for block in entry.blocks) else "end_turn"
    stop: JsonObject = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": _OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def _parts(block: JsonObject) -> tuple[JsonObject, JsonObject]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    identity = block.get("id") or "toolu_" + secrets.token_hex(12)
    content: JsonObject = {"type": "tool_use", "id": identity, "name": block["name"], "input": {}}
    return content, {"type": "input_json_delta", "partial_json": json.dumps(block["input"], ensure_ascii=False)}
