"""Runs, lists and states as people are shown them, built from the supervisor's JSON alone.

Owns layout and colours of the reading commands. The words come from `lifecycle`; nothing is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from runner.lifecycle import RunState, word
from runner.model import Json, JsonObject
from runner.render.block import show_block
from runner.render.card_words import what_came_from_outside
from runner.render.concealed import what_was_hidden
from runner.render.door import waiting_words, what_was_noticed
from runner.render.notices import show_channels
from runner.render.screen import CELL, Page, Part, Screen, Styled
from runner.render.threads import thread_words
from runner.render.values import age, duration, moment, objects_at, signed, text_at, texts_at, tool_name

_WORD_STYLES = {"needs you": "bold yellow", "doing": "cyan", "done": "green", "refused": "red"}
_VERDICT_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}


def state_part(state: str) -> Styled:
    """A run's state behind its word: `needs you (held)`."""
    try:
        said = word(RunState(state))
    except ValueError:
        return Styled(state, "bold")
    shown = said if said == state else f"{said} ({state})"
    return Styled(shown, _WORD_STYLES.get(said, ""))


def show_runs(screen: Screen, runs: Sequence[JsonObject], *, now: datetime) -> None:
    """The list of runs, newest as the supervisor sorted them."""
    if not runs:
        screen.say("no runs")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(run, "id"), "cyan"),
            text_at(run, "agent"),
            state_part(text_at(run, "state")),
            text_at(run, "sender"),
            age(run.get("created"), now=now),
            text_at(run, "reason") or text_at(run, "progress"),
        ]
        for run in runs
    ]
    screen.table(["run", "agent", "state", "from", "started", "about"], rows)


def show_run(screen: Page, run: JsonObject) -> None:
    """One run: what it is, every call with its verdict, the reply."""
    screen.say(Styled("run ", "bold"), Styled(text_at(run, "id"), "bold cyan"), "  ", state_part(text_at(run, "state")))
    strict = "strict" if run.get("strict") else "not strict"
    screen.say("  ", text_at(run, "agent"), ", from ", text_at(run, "sender"), ", ", strict)
    if text_at(run, "reason"):
        screen.say("  ", Styled(text_at(run, "reason"), "red"))
    if thread := thread_words(run):
        screen.say("  thread ", thread)
    if outside := what_came_from_outside(run):
        screen.say("  from outside: ", outside)
    for hid in what_was_hidden(run):
        screen.say("  ", Styled(hid, "bold yellow"))
    for noticed in what_was_noticed(run):
        screen.say("  ", Styled(noticed, "bold yellow"))
    if waiting := texts_at(run, "approvals"):
        screen.say("  waits for you: ", Styled(" ".join(waiting), "bold yellow"))
    show_calls(screen, objects_at(run, "calls"))
    _usage(screen, run)
    if reply := text_at(run, "reply"):
        screen.say(Styled("reply", "bold"))
        screen.lines(show_block(reply, width=screen.width))


def show_calls(screen: Page, calls: Sequence[JsonObject]) -> None:
    """Every call of a run: verdict, tool and what it was about; then why, and what came of it."""
    for number, call in enumerate(calls, 1):
        verdict = text_at(call, "verdict")
        style = _VERDICT_STYLES.get(verdict, "bold")
        tool = Styled(tool_name(text_at(call, "tool")), "bold")
        screen.say(f"{number:>3}  ", Styled(verdict, style, 7), tool, " ", Styled(show_input(call), "", limit=CELL))
        screen.say(Styled("", "", 12), Styled(text_at(call, "reason"), "dim"))
        if outcome := text_at(call, "outcome"):
            screen.say(Styled("", "", 12), "outcome: ", Styled(outcome, "", limit=400))


def show_input(call: JsonObject) -> str:
    """A call's input in a word or two: its first argument, which says where or what."""
    try:
        given = json.loads(text_at(call, "input"))
    except (ValueError, RecursionError):
        return text_at(call, "input")
    first = next(iter(given.values()), "") if isinstance(given, dict) else given
    return first if isinstance(first, str) else json.dumps(first)


def _usage(screen: Page, run: JsonObject) -> None:
    usage = run.get("usage")
    if isinstance(usage, dict) and any(usage.values()):
        figures = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in usage.items() if value)
        screen.say("  ", Styled(figures, "dim"))


def show_approvals(screen: Screen, approvals: Sequence[JsonObject], *, now: datetime) -> None:
    """The queue as a table, then how to go on."""
    if not approvals:
        screen.say("nothing waits for you")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(row, "id"), "cyan"),
            text_at(row, "agent"),
            what(row),
            f"{text_at(row, 'state')}, {signed(row)}" if signed(row) else text_at(row, "state"),
            text_at(row, "sender"),
            age(row.get("created"), now=now),
            age(row.get("expires"), now=now) if row.get("state") == "pending" else "",
        ]
        for row in approvals
    ]
    screen.table(["approval", "agent", "what", "state", "from", "asked", "expires"], rows)


def what(row: JsonObject) -> str:
    """What a call does, in words; its tool where an older supervisor has none."""
    return text_at(row, "does") or tool_name(text_at(row, "tool"))


_TO_DO = {
    "approval": "decide",
    "unknown": "settle",
    "reply": "review",
    "budget": "raise or stop",
    "stub": "let in",
    "stored": "start",
}


def show_todo(screen: Screen, items: Sequence[JsonObject], *, now: datetime) -> None:
    """What needs a person, each with the command that deals with it."""
    if not items:
        screen.say("nothing needs you")
        return
    rows: list[list[Part]] = [
        [
            Styled(_TO_DO.get(text_at(item, "kind"), "look"), "bold red" if item.get("kind") == "unknown" else ""),
            text_at(item, "agent"),
            what(item),
            text_at(item, "sender"),
            age(item.get("created"), now=now),
            age(item.get("expires"), now=now) if item.get("kind") in {"approval", "reply"} else "",
            Styled(text_at(item, "command"), "bold"),
        ]
        for item in items
    ]
    screen.table(["to do", "agent", "what", "from", "asked", "expires", "with"], rows)


def show_event(screen: Screen, event: JsonObject) -> None:
    """One event of the audit on a line: when, who, what, to what, and its facts that are no digests."""
    when = moment(event.get("time"))
    data = event.get("data")
    facts = data if isinstance(data, dict) else {}
    moved = f"{text_at(facts, 'from')} → {text_at(facts, 'to')}" if {"from", "to"} <= facts.keys() else ""
    words = [f"{key.replace('_', ' ')} {text_at(facts, key)}" for key, value in facts.items() if _worth_saying(key, value)]
    said = ", ".join([moved, *words] if moved else words)
    clock = "" if when is None else f"{when:%Y-%m-%d %H:%M:%S}"
    who = Styled(text_at(event, "who"), "green" if text_at(event, "who") != "supervisor" else "dim", 10)
    what = Styled(text_at(event, "event"), "bold", 19)
    subject = Styled(text_at(event, "subject"), "cyan")
    screen.say(Styled(clock, "dim"), "  ", who, "  ", what, "  ", subject, "  ", Styled(said, "", limit=CELL * 3))


def _worth_saying(key: str, value: Json) -> bool:
    """Who, from where and where to are said already; a digest says nothing to a person, and a nought next to nothing."""
    said = key in {"by", "uid", "channel", "from", "to"} or key.startswith("sender_")
    return not said and bool(value) and not (isinstance(value, str) and value.startswith("sha256:"))


def show_profiles(screen: Screen, profiles: Sequence[JsonObject]) -> None:
    """Published profiles."""
    if not profiles:
        screen.say("no profiles; runner profile publish FILE adds one")
        return
    rows: list[list[Part]] = [
        [
            Styled(text_at(profile, "name"), "cyan"),
            " ".join(texts_at(profile, "tools")),
            text_at(profile, "policy"),
            ", ".join(_notes(profile)),
            text_at(profile, "description"),
            text_at(profile, "digest")[:19],
        ]
        for profile in profiles
    ]
    screen.table(["name", "tools", "policy", "", "description", "digest"], rows)


def _notes(profile: JsonObject) -> list[str]:
    """What an operator should see at a glance of an agent (R63, R64)."""
    notes = ["strict" if profile.get("strict") else "not strict"]
    return notes + (["replies unreviewed"] if profile.get("allow_replies") else [])


def show_status(screen: Screen, status: JsonObject) -> None:
    """What the supervisor says of itself."""
    uptime = status.get("uptime")
    since = f", up {duration(uptime)}" if isinstance(uptime, int | float) else ""
    screen.say(Styled("runs", "green"), f", pid {text_at(status, 'pid')}{since}, version {text_at(status, 'version')}")
    for key, value in status.items():
        if key in {"pid", "uptime", "version"} or value in (None, "", {}, []):
            continue
        if key == "notices":
            show_channels(screen, status)
            continue
        if key == "waiting":
            screen.say("  ", Styled(key, "dim", 19), waiting_words(status))
            continue
        if isinstance(value, dict):
            shown = ", ".join(f"{inner} {text_at(value, inner)}" for inner in value if value[inner] not in (None, "", 0))
        else:
            shown = ", ".join(texts_at(status, key)) or text_at(status, key)
        screen.say("  ", Styled(key.replace("_", " "), "dim", 19), shown)
