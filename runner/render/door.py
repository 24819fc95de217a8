"""What stands before a door, in words for people: attempts that wait for a container, and who knocked at a run's gateway."""

from __future__ import annotations

from collections.abc import Iterator

from runner.model import JsonObject
from runner.render.values import texts_at

_FOR = {
    "place": "every place for them is taken (RUNNER_HOST)",
    "room": "the machine has no room for one more (runner doctor says of what)",
    "resume": "the supervisor is paused (runner resume)",
    "turn": "their turn is about to come",
}


def waiting_words(status: JsonObject) -> str:
    """How many attempts wait for a container, and what for."""
    waiting = status.get("waiting")
    if not isinstance(waiting, dict):
        return "none"
    reason = _FOR.get(str(waiting.get("for")), "")
    attempts = waiting.get("attempts")
    return f"{attempts} {'attempt' if attempts == 1 else 'attempts'}: {reason}"


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
