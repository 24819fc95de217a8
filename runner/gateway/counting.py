"""What a CLI may have counted: the text of a file it has just read, and nothing else.

CLI 2.1.332 asks before it puts a long file into its conversation: one text in the user's mouth, no system prompt, no tools.
"""

from __future__ import annotations

from runner.gateway.shapes import refuse
from runner.model import JsonObject

_KEYS = frozenset({"model", "messages", "tools"})


def check_counted(body: JsonObject) -> None:
    """Refuse to ask the provider about anything else: what is not compared is not sent.

    Args:
        body: A re-built request.

    Raises:
        RequestRefusedError: It is more than one text.
    """
    if more := body.keys() - _KEYS:
        refuse("a count", f"has the key {min(more)}")
    messages = body["messages"]
    first = messages[0] if isinstance(messages, list) and len(messages) == 1 else None
    if body.get("tools") or not isinstance(first, dict) or first["role"] != "user" or not isinstance(first["content"], str):
        refuse("a count", "is more than one text of the user's")
