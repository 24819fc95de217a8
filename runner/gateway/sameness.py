"""What the model is told about itself must be what the profile says: system prompt and tool definitions.

A transcript or a CLI that was tampered with would change them (design.md §8, case 109): a request that differs is not forwarded
and its run ends. Compared after re-building, so nothing else of the request can say it differently. What was said in the
conversation is `memory`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from runner.digest import digest_json, objects
from runner.gateway.memory import Conversation
from runner.model import Digest, Json, JsonObject

#: How the CLI introduces itself when the SDK drives it; pinned, since it is told to the model as its maker's word.
IDENTITY = "You are a Claude agent, built on Anthropic's Claude Agent SDK."
#: The CLI's note to the provider's accounting, which changes with its build. One line of it is taken, and goes nowhere.
_BILLING = re.compile(r"x-anthropic-billing-header:(?: [a-z_]{1,32}=[\w.-]{1,128};){1,20}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What every request of a run has to hold.

    Args:
        system: The last block of the system prompt: the profile's, with the fence's rule.
        definitions: The model's name of each offered tool → digests of the definitions it may have; see `definition`.
        conversation: What is asked in it, and what was said before.
    """

    system: str
    definitions: Mapping[str, frozenset[Digest]]
    conversation: Conversation


def definition(tool: JsonObject) -> Digest:
    """The digest of a tool definition as a request holds it: name, description, schema."""
    fields: JsonObject = {key: tool[key] for key in ("name", "description", "input_schema") if key in tool}
    return digest_json("runner.offered.v1", fields)


def difference(body: JsonObject, expected: Expected) -> str | None:
    """What in a re-built request is not as it should be, in plain words; None when all is."""
    first, *others = _texts(body.get("system")) or [""]
    if (others if _BILLING.fullmatch(first) else [first, *others]) != [IDENTITY, expected.system]:
        return "its system prompt is not the profile's"
    tools = body.get("tools")
    for tool in objects(tools):
        if definition(tool) not in expected.definitions.get(str(tool["name"]), ()):
            return f"it describes the tool {tool['name']} otherwise than it is"
    return None


def without_billing(body: JsonObject) -> None:
    """Take the billing line out of a re-built request's system prompt, in place."""
    system = body.get("system")
    if isinstance(system, list) and _BILLING.fullmatch(next(iter(_texts(system)), "")):
        body["system"] = system[1:]


def _texts(system: Json) -> list[str]:
    return [system] if isinstance(system, str) else [str(part["text"]) for part in objects(system)]
