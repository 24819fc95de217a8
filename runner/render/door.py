"""What a run's gateways noticed, in words for people."""

from __future__ import annotations

from collections.abc import Iterator

from runner.model import JsonObject
from runner.render.values import texts_at


def what_was_noticed(run: JsonObject) -> Iterator[str]:
    """One line for each; nothing where all was as it should be."""
    door = run.get("gateway")
    if not isinstance(door, dict):
        return
    strangers, first = door.get("strangers"), door.get("first")
    if strangers and isinstance(first, dict):
        times = "once" if strangers == 1 else f"{strangers} times"
        who = f"pid {first.get('pid')}, uid {first.get('uid')}"
        yield f"a process outside its container knocked at its gateway {times} and was not heard (first: {who})"
    for found in texts_at(door, "found"):
        yield f"its container told the model what is not so: {found}"
