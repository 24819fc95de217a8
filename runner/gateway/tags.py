"""Take the CLI's own voice out of tool results: a file may not speak as the harness does (design.md §8, §2.4).

The CLI puts `<system-reminder>` and the like into tool results itself, and the model is used to obeying them. What a tool
returned cannot be told apart from them here, so the mark is broken in both: the words stay, the tag does not. The same text
always becomes the same text, so that the provider's prompt cache holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from runner.digest import objects
from runner.model import Json

#: Tags in which the CLI, or this product, addresses the model.
NAMES = (
    *("antml:[a-z_]+", "bash-input", "bash-stderr", "bash-stdout", "cc-memory", "command-args", "command-contents"),
    *("command-message", "command-name", "cross_session_messages_rule", "fast_mode_info", "function_calls"),
    *("function_results?", "functions?", "ide_diagnostics", "ide_opened_file", "ide_selection", "invoke"),
    *("local-command-caveat", "local-command-stderr", "local-command-stdout", "mcp-server-note", "new-diagnostics"),
    *("pasted_content", "persisted-output", "post-tool-use-hook", "session-start-hook", "subagent_hand_back"),
    *("system", "system-note", "system-reminder", "system_reminder", "task-notification", "tool_result", "tool_use"),
    *("tool_use_error", "total_tokens", "untrusted", "user-memory-input", "user-prompt-submit-hook"),
)


def _by_letter(names: Iterable[str]) -> str:
    """The names as one pattern that looks at each letter once: a text of brackets alone would try them all at each."""
    grouped = groupby(sorted(names), key=lambda name: name[0])
    return "|".join(f"{letter}(?:{'|'.join(name[1:] for name in group)})" for letter, group in grouped)


#: Possessive: blanks that were passed over are not given back one by one, each time to try every name anew.
_TAG = re.compile(rf"<(?=[\s/\\]*+(?:{_by_letter(NAMES)})(?![\w-]))", re.IGNORECASE)
#: Characters that are looked at before anybody else has a turn: the interpreter waits for a search to end.
_PIECE = 64 * 1024


def without_tags(text: str) -> str:
    """The text with the opening bracket of every such tag written as `&lt;`."""
    return "".join(_TAG.sub("&lt;", piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text cut before opening brackets, over which no tag reaches."""
    start = 0
    while start < len(text):
        end = text.find("<", start + _PIECE)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end


def quiet_results(messages: Json) -> None:
    """Break these tags in every tool result of a re-built request, in place."""
    for message in objects(messages):
        for block in objects(message["content"]):
            if block["type"] == "tool_result" and "content" in block:
                block["content"] = _quiet(block["content"])


def _quiet(content: Json) -> Json:
    if isinstance(content, str):
        return without_tags(content)
    for part in objects(content):
        if part["type"] == "text":
            part["text"] = without_tags(str(part["text"]))
        elif part["type"] == "document":
            _quiet_document(part)
    return content


def _quiet_document(part: dict[str, Json]) -> None:
    for key in ("title", "context"):
        if key in part:
            part[key] = without_tags(str(part[key]))
    source = part["source"]
    if isinstance(source, dict) and source["type"] == "text":
        source["data"] = without_tags(str(source["data"]))
