"""approve, deny and settle: a person's word on a call (V7, W2, K2, K3, B9).

Owns the question. Silence, Enter, anything but a clear yes, and the end of input all leave the call where it is.
"""

from __future__ import annotations

import sys
import termios
import time
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Annotated

import typer

from runner.api.client import Client, as_object
from runner.cli.completion import pending
from runner.cli.credential import keyed
from runner.cli.editing import EditFile, edit_for, planned
from runner.cli.follow import follow_approval
from runner.cli.several import all_waiting, decide_all, listed, named
from runner.cli.shared import DECISIONS, JsonFlag, Reason, connect, now, reach
from runner.cli.showing import report_shown
from runner.errors import AlreadyDecidedError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import JsonObject
from runner.render import Screen, Styled, show_card, show_fields
from runner.render.values import objects_at, signed, text_at, tool_name

#: Seconds in which keys don't count: what was typed before the card was there cannot mean it (V7).
ARM_DELAY = 0.6
_EXITS = {
    ApprovalState.STALE.value: 5,
    ApprovalState.EXPIRED.value: 5,
    ApprovalState.FAILED.value: 1,
    ApprovalState.UNKNOWN.value: 1,
}
_Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID...", help="Ids, or their beginnings.", autocompletion=pending, show_default=False),
]
AllShown = Annotated[
    str | None, typer.Option(metavar="SNAPSHOT", help="All that waited on this list of runner approvals, and none since.")
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner approve a_2v8xk1")(keyed(approve))
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner deny a_2v8xk1 --reason 'not in this folder'")(deny)
    app.command(rich_help_panel=DECISIONS, epilog="Example: runner settle a_2v8xk1 not-happened")(keyed(settle))


def approve(  # noqa: PLR0913 - each is a flag of the contract
    ids: _Ids = None,
    *,
    reason: Reason = None,
    digest: Annotated[str | None, typer.Option(metavar="DIGEST", help="The full digest of what you saw.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; needs the digest of each, or --all-shown.")] = False,
    all_shown: AllShown = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the outcome and show it.")] = False,
    always: Annotated[
        bool, typer.Option("--always", help="Let this tool of this agent run from now on, without asking.")
    ] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Have this tool of this agent ask from now on, under any policy.")] = False,
    edit: EditFile = None,
    json: JsonFlag = False,
) -> None:
    """Show a call whole, ask, and have the supervisor carry it out.

    Several are carried out together or not at all; off a terminal each is named ID=DIGEST. Calls of contacts, and what executes
    or sends, are approved one by one. --always counts only where strict is off, never for a contact, and not while untrusted
    content could be carried out. With --edit the changed input is shown, and carried out in place of the proposed one; off a
    terminal its digest is the one that runner show ID --edit FILE prints.
    """
    screen = Screen(json=json)
    calls = named(ids or (), digest, all_shown)
    asked = yes or not screen.interactive or json or any(call.digest for call in calls)
    if asked and not (yes and all(call.digest for call in calls)):
        raise UsageError(
            "cannot approve without asking: that needs --yes and the full --digest",
            resolution="runner show ID prints the digest; on a terminal, runner approve ID shows the call and asks",
        )
    if always and ask:
        raise UsageError("cannot save two verdicts: --always or --ask", resolution="leave one of them out")
    save = "allow" if always else "ask" if ask else None
    edited = edit_for(edit, calls, alone=save is None and all_shown is None)
    together = asked and (all_shown is not None or len(calls) > 1)
    if together and save is not None:
        raise UsageError("cannot save a verdict with several calls", resolution="approve one of them with it")
    with connect() as client:
        if together:
            found = decide_all(client, "approve", calls=calls, snapshot=all_shown, reason=reason)
            worst = _say_all(screen, found)
        else:
            worst = 0
            calls = calls if all_shown is None else listed(client, all_shown)
            for ref in all_waiting(client, calls):
                seen = calls[0].digest if asked else ask_person(screen, client, ref, edited=edited)
                more: JsonObject = {"verdict": save, "input": edited}
                body: JsonObject = {"digest": seen, "reason": reason}
                body |= {key: value for key, value in more.items() if value is not None}
                worst = max(worst, _release(screen, client, ref=ref, body=body, wait=wait) if seen else 1)
    if worst:
        raise typer.Exit(worst)


def deny(  # noqa: PLR0913 - each is a flag of the contract
    ids: _Ids = None,
    *,
    reason: Reason = None,
    stop: Annotated[bool, typer.Option("--stop", help="End the run too.")] = False,
    all_shown: AllShown = None,
    block: Annotated[bool, typer.Option("--block", help="Refuse every call of this tool of this agent from now on.")] = False,
    json: JsonFlag = False,
) -> None:
    """Refuse a call; the agent is told, and goes on without it. Several are refused together or not at all."""
    screen = Screen(json=json)
    calls = named(ids or (), None, all_shown)
    body: JsonObject = {"reason": reason, "stop": stop}
    if block:
        body["verdict"] = "block"
    with connect() as client:
        if (all_shown is not None or len(calls) > 1) and not (stop or block):
            done = decide_all(client, "deny", calls=calls, snapshot=all_shown, reason=reason)
        else:
            refs = all_waiting(client, calls if all_shown is None else listed(client, all_shown))
            done = [as_object(client.post("approvals", ref, "deny-and-save" if block else "deny", body=body)) for ref in refs]
    if json:
        screen.document(done[0] if len(done) == 1 else {"approvals": [*done]})
        return
    for found in done:
        what, ref = tool_name(text_at(found, "tool")), text_at(found, "id")
        screen.say(Styled("denied ", "bold red"), f"{what} ", Styled(ref, "cyan"), "; its run is stopped" if stop else "")
        _say_saved(screen, found)


class Answer(Enum):
    """What became of an effect, as a person found it."""

    HAPPENED = "happened"
    NOT_HAPPENED = "not-happened"


def settle(
    ref: Annotated[str, typer.Argument(metavar="ID", help="An approval in state unknown, or its beginning.")],
    answer: Annotated[Answer, typer.Argument(help="What you found when you looked.")],
    *,
    reason: Reason = None,
    json: JsonFlag = False,
) -> None:
    """Say what became of a call that the supervisor lost sight of; the agent is told, and its run goes on.

    Look first: nothing is done by it and nothing is done again. runner show ID tells what the call was.
    """
    screen = Screen(json=json)
    with connect() as client:
        whole = reach(client, ref, "approval").id
        found = as_object(client.post("approvals", whole, "settle", body={"answer": answer.value, "reason": reason}))
    if json:
        screen.document(found)
    else:
        tool = tool_name(text_at(found, "tool"))
        screen.say(Styled("settled ", "bold"), f"{tool} ", Styled(whole, "cyan"), f": {text_at(found, 'state')}")


def ask_person(screen: Screen, client: Client, ref: str, *, edited: str | None = None) -> str | None:
    """Show the card and ask; the digest of what was shown for a yes, None for everything else.

    `edited`: an input that would be carried out in place of the proposed one; then its card is shown.

    Raises:
        AlreadyDecidedError: There is nothing to decide any more.
    """
    approval = client.record("approvals", ref) if edited is None else planned(client, ref, edited)
    state = text_at(approval, "state")
    if state != ApprovalState.PENDING.value:
        raise AlreadyDecidedError(f"cannot approve {ref}: it is {state} already", resolution=f"runner show {ref}")
    parts = screen.parts(lambda: show_card(screen, approval, now=now()))
    asked = f"approve {tool_name(text_at(approval, 'tool'))} {ref}?"
    seen = partial(report_shown, client, approval, surface="cli", parts=parts)
    return text_at(approval, "digest") if said_yes(screen, parts, asked=asked, ref=ref, seen=seen) else None


def said_yes(
    screen: Screen, parts: Sequence[Sequence[str]], *, asked: str, ref: str, seen: Callable[[], object] = lambda: None
) -> bool:
    """Show every part in turn and ask behind the last one; anything but a clear yes decides nothing (V4, V7).

    Args:
        screen: Where.
        parts: What is decided about, whole.
        asked: The question.
        ref: What goes on waiting without a yes.
        seen: Called when the last part is on the screen.
    """
    if confirmed(screen, parts, asked=asked, seen=seen):
        return True
    screen.progress(f"nothing was decided; {ref} still waits")
    return False


def confirmed(screen: Screen, parts: Sequence[Sequence[str]], *, asked: str, seen: Callable[[], object] = lambda: None) -> bool:
    """Whether a person saw every part and said yes behind the last one."""
    for number, part in enumerate(parts, 1):
        screen.part(part)
        if number < len(parts):
            screen.ask(f"part {number}/{len(parts)}; Enter shows the next, q leaves it undecided:")
            if typed() != "":
                return False
            continue
        seen()
        screen.ask(Styled(asked, "bold"), " [y/N]")
        return typed() in {"y", "yes"}
    return False


def _say_saved(screen: Screen, found: JsonObject) -> None:
    """The verdict that was saved with a decision, and what not to expect of it (R144)."""
    if saved := text_at(found, "saved"):
        screen.say("  ", Styled("saved", "dim", 9), f"{saved} for {text_at(found, 'tool')} of {text_at(found, 'agent')}")
    if note := text_at(found, "note"):
        screen.progress(Styled("note: ", "yellow"), note)


def typed() -> str | None:
    """One line typed after the question was on screen; None at the end of input."""
    time.sleep(ARM_DELAY)
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    line = sys.stdin.readline(64)
    return line.strip().lower() if line.endswith("\n") else None


def _release(screen: Screen, client: Client, *, ref: str, body: JsonObject, wait: bool) -> int:
    """Have it carried out, say what was released (K3), and the exit code of what came of it."""
    saved = found = as_object(client.post("approvals", ref, "approve-and-save" if "verdict" in body else "approve", body=body))
    if wait:
        found = follow_approval(client, ref)
    if screen.json:
        screen.document(found)
        return _EXITS.get(text_at(found, "state"), 0)
    worst = _say_released(screen, found, str(body["digest"]))
    _say_saved(screen, saved)
    outcome = found.get("outcome")
    if wait and outcome:
        screen.lines(show_fields(outcome if isinstance(outcome, dict) else {"outcome": outcome}, width=screen.width))
    return worst


def _say_all(screen: Screen, found: list[JsonObject]) -> int:
    """What was released together, and the exit code of the worst that came of it."""
    if screen.json:
        screen.document({"approvals": [*found]})
        return max((_EXITS.get(text_at(one, "state"), 0) for one in found), default=0)
    return max((_say_released(screen, one, "") for one in found), default=0)


def _say_released(screen: Screen, found: JsonObject, digest: str) -> int:
    ref, state = text_at(found, "id"), text_at(found, "state")
    targets = ", ".join(text_at(path, "resolved") for path in objects_at(found, "paths"))
    target = f" on {targets}" if targets else ""
    word = "signed " if state == ApprovalState.PENDING.value else "approved "
    screen.say(Styled(word, "bold green"), f"{tool_name(text_at(found, 'tool'))} ", Styled(ref, "cyan"), target)
    screen.say("  ", Styled("digest", "dim", 9), text_at(found, "digest") or digest)
    if under := signed(found):
        screen.say("  ", Styled("signed", "dim", 9), under)
    screen.say("  ", Styled("state", "dim", 9), Styled(state, "green" if state == ApprovalState.DONE.value else "yellow"))
    return _EXITS.get(state, 0)
