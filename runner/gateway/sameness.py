"""What the model is told about itself must be what the profile says: system prompt, tool definitions, the stored prompt.

A transcript or a CLI that was tampered with would change them (design.md §8, case 109): a request that differs is not forwarded
and its run ends. Compared after re-building, so nothing else of the request can say it differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from runner.digest import digest_json
from runner.model import Digest, Json, JsonObject

#: How the CLI introduces itself when the SDK drives it; pinned, since it is told to the model as its maker's word.
IDENTITY = "You are a Claude agent, built on Anthropic's Claude Agent SDK."
#: The CLI's note to the provider's accounting; it is no instruction, and changes with the CLI's build.
_BILLING = "x-anthropic-billing-header:"

#: Where the CLI has put a picture that came with the prompt.
_PICTURE = re.compile(
    r"\[Image: source: /tmp/claude-\d{1,10}/[\w-]{1,200}/[0-9a-f-]{36}/images/\d{1,4}\.[a-z]{3,4}\]", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What every request of a run has to hold.

    Args:
        system: The last block of the system prompt: the profile's, with the fence's rule.
        definitions: The model's name of each offered tool → digests of the definitions it may have; see `definition`.
        prompt: The last text of the first user message.
    """

    system: str
    definitions: Mapping[str, frozenset[Digest]]
    prompt: str


def definition(tool: JsonObject) -> Digest:
    """The digest of a tool definition as a request holds it: name, description, schema."""
    fields: JsonObject = {key: tool[key] for key in ("name", "description", "input_schema") if key in tool}
    return digest_json("runner.offered.v1", fields)


def difference(body: JsonObject, expected: Expected) -> str | None:
    """What in a re-built request is not as it should be, in plain words; None when all is."""
    if _texts(body.get("system")) != [IDENTITY, expected.system]:
        return "its system prompt is not the profile's"
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict) and definition(tool) not in expected.definitions.get(str(tool["name"]), ()):
            return f"it describes the tool {tool['name']} otherwise than it is"
    if _first_prompt(body["messages"]) != expected.prompt:
        return "the request it began with is not the one that was sent"
    return None


def _texts(system: Json) -> list[str]:
    """The system prompt's blocks but the billing line."""
    blocks = [system] if isinstance(system, str) else [str(part["text"]) for part in _objects(system)]
    return [text for text in blocks if not text.startswith(_BILLING)]


def _first_prompt(messages: Json) -> str | None:
    """The last text of the user's first message: the CLI puts its reminders before it, and notes on pictures behind."""
    first = next(iter(_objects(messages)), None)
    if first is None or first["role"] != "user":
        return None
    content = first["content"]
    if isinstance(content, str):
        return content
    texts = [str(part["text"]) for part in _objects(content) if part["type"] == "text"]
    said = [text for text in texts if _PICTURE.fullmatch(text) is None]
    return said[-1] if said else None


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
