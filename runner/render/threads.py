"""Threads as people see them: which there are, what a run of one continues, and what came along (design.md §6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runner.model import JsonObject
from runner.render.card_words import what_came_from_outside
from runner.render.screen import Part, Screen, Styled
from runner.render.values import age, text_at


def thread_words(record: JsonObject) -> str:
    """What a run, an approval or a sent capture says of its thread; "" for one that stands alone."""
    thread = record.get("thread")
    if not isinstance(thread, dict):
        return ""
    name, continues = text_at(thread, "name"), text_at(thread, "continues")
    if not continues:
        return f"{name}, which begins here"
    outside = what_came_from_outside(thread)
    came = f"from outside came along: {outside}" if outside else "nothing from outside came along"
    return f"{name}, continues {continues}; {came}"


def show_threads(screen: Screen, threads: Sequence[JsonObject], *, now: datetime) -> None:
    """The list, as the supervisor sorted it."""
    if not threads:
        screen.say("no threads; runner send AGENT --thread NAME begins one")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(thread, "name"), "bold cyan"),
            text_at(thread, "agent"),
            text_at(thread, "runs"),
            age(thread.get("updated"), now=now),
            text_at(thread, "last"),
            _now(thread),
        ]
        for thread in threads
    ]
    screen.table(["thread", "with", "runs", "moved", "goes on after", "now"], rows)


def _now(thread: JsonObject) -> Styled:
    """Its newest run's state, whether it is tainted, and why it cannot go on."""
    over, tainted = text_at(thread, "over"), bool(thread.get("taint"))
    words = [text_at(thread, "state") or "no run yet", "tainted, so strict" if tainted else "", f"over: {over}" if over else ""]
    return Styled("; ".join(word for word in words if word), "red" if over else "bold yellow" if tainted else "")
