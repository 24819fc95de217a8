"""What stands beside a call on its card: what it does, its turn, what its run read, how calls like it were decided (V1, V6).

Worked out from rows when somebody looks; nothing of it is bound by a digest, and nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from runner.broker.cautions import cautions
from runner.broker.imitations import Known, imitations
from runner.broker.saying import Spoken, does, target_of
from runner.digest import parse_call
from runner.lifecycle import ApprovalState
from runner.model import WORKSPACE, Json, JsonObject, ToolCall, Verdict
from runner.policy.catalogue import TOOLS, unknown_tool
from runner.store import ApprovalRow, CallRow, Connection, calls, contacts, grants, lookbacks, meta
from runner.store import approvals as rows

#: Seconds for which a denial of a similar call is worth a warning.
LATELY = 24 * 3600.0
#: Arguments in which the model only says what its call is for.
_CLAIMS: Mapping[str, tuple[str, ...]] = MappingProxyType({"Bash": ("description",)})
_READS = frozenset({"Read", "NotebookRead"})
#: Whoever decides without a person: their word is no habit of anybody.
_NOBODY = frozenset({"policy", grants.CHANNEL})
_OWN_HOST = "own_host"


class Habit(NamedTuple):
    """How the calls before one were decided, and what is new in it."""

    calls: int
    approved: bool
    differs: tuple[str, ...]


def note_host(conn: Connection, public_url: str | None) -> None:
    """Remember by which name contacts reach this host, so that another that looks like it is noticed."""
    meta.put(conn, _OWN_HOST, urlsplit(public_url or "").hostname or "")


def spoken(row: ApprovalRow) -> Spoken:
    """An approval's call as it is spoken of: as it would be carried out."""
    held = row.effective
    return Spoken(tool=row.tool, arguments=_arguments(row.tool, held.raw), paths=held.paths, pre_images=held.pre_images)


def sentence(row: ApprovalRow) -> str:
    """What an approval's call does."""
    return does(spoken(row))


def beside(conn: Connection, row: ApprovalRow) -> JsonObject:
    """The rest of a card."""
    call = spoken(row)
    known = TOOLS.get(row.tool) or unknown_tool(row.tool)
    found = lookbacks.decided(conn, agent=row.agent, tool=row.tool, before=row.opened)
    earlier = tuple(one for one in found if _by_a_person(one) and _was_decided_before(one, row))
    whole = calls.of_run(conn, row.run)
    return {
        "does": does(call),
        "target": target_of(call),
        "claims": [*_CLAIMS.get(row.tool, ())],
        "class": known.tool_class.value,
        "egress": known.egress,
        "warnings": [*dict.fromkeys((*row.effective.warnings, *cautions(call), *imitations(call, _known(conn))))],
        "turn": _turn([one for one in whole if one.turn == row.turn], rows.list(conn, run=row.run, turn=row.turn)),
        "read": _read(whole),
        "alike": _habit_view(habit(row, earlier)),
        "denied_before": _denied(row, earlier),
    }


def habit(row: ApprovalRow, earlier: Sequence[ApprovalRow]) -> Habit | None:
    """How the last calls of this agent and tool were decided, as far back as they were decided alike.

    Args:
        row: The call that waits.
        earlier: Decided calls of the same agent and tool, newest first.
    """
    if not earlier:
        return None
    denied = earlier[0].state is ApprovalState.DENIED
    alike = []
    for one in earlier:
        if (one.state is ApprovalState.DENIED) is not denied:
            break
        alike.append(_facts(one))
    now = _facts(row)
    names = dict.fromkeys((*now, *(name for facts in alike for name in facts)))
    differs = tuple(name for name in names if all(facts.get(name) != now.get(name) for facts in alike))
    return Habit(len(alike), not denied, differs)


def similar_denied(row: ApprovalRow, earlier: Sequence[ApprovalRow]) -> ApprovalRow | None:
    """The newest denial of a call of this agent and tool that led to the same place, or said the same elsewhere."""
    held = row.effective
    places = {path.resolved for path in held.paths}
    said = _arguments(held.tool, held.raw)
    for one in earlier:
        if one.state is not ApprovalState.DENIED or one.decided_at is None or row.created - one.decided_at > LATELY:
            continue
        theirs = _arguments(one.tool, one.raw)
        other = [name for name in said.keys() | theirs.keys() if said.get(name) != theirs.get(name)]
        if places & {path.resolved for path in one.paths} or len(other) <= 1:
            return one
    return None


def _known(conn: Connection) -> Known:
    return Known(petnames=tuple(one.petname for one in contacts.all(conn)), host=meta.get(conn, _OWN_HOST) or "")


def _facts(row: ApprovalRow) -> Mapping[str, Json]:
    """What a person would compare: each argument, a path as folder and name, and what stood there."""
    call = spoken(row)
    held = row.effective
    paths = {path.asked: path.resolved for path in held.paths}
    facts: dict[str, Json] = {}
    for name, value in call.arguments.items():
        place = paths.get(value) if isinstance(value, str) else None
        if place is None:
            facts[name] = value
        else:
            facts |= {"folder": str(place.parent), "name": place.name}
    if call.stood:
        facts["what stands there"] = call.stood
    return facts | {"sender": row.sender.petname, "warnings": [*held.warnings]}


def _habit_view(found: Habit | None) -> JsonObject | None:
    return None if found is None else {"count": found.calls, "approved": found.approved, "differs": [*found.differs]}


def _denied(row: ApprovalRow, earlier: Sequence[ApprovalRow]) -> JsonObject | None:
    found = similar_denied(row, earlier)
    if found is None:
        return None
    by = found.decided_by
    who = "" if by is None else by.name or f"uid {by.uid}"
    return {"id": found.id, "at": found.decided_at, "by": who, "reason": found.decision_reason}


def _turn(turn: Sequence[CallRow], queued: Sequence[ApprovalRow]) -> list[Json]:
    """The calls of a turn in the model's order; those a person decides about with their ids."""
    by_call = {one.call: one for one in queued}
    found: list[Json] = []
    for call in turn:
        row = by_call.get(call.id)
        said = does(Spoken(tool=call.tool, arguments=_arguments(call.tool, call.raw), paths=call.paths))
        state = row.state.value if row is not None else _became(call)
        found.append(
            {
                "id": None if row is None else row.id,
                "tool": call.tool,
                "state": state,
                "does": said if row is None else sentence(row),
            }
        )
    return found


def _became(call: CallRow) -> str:
    """What became of a call that nobody was asked about."""
    if call.verdict is Verdict.DENY:
        return "refused"
    return "running" if call.outcome is None else "ran"


def _read(whole: Sequence[CallRow]) -> JsonObject:
    """What the run got to see of its directory, each place once, in order."""
    ran = [one for one in whole if one.outcome is not None and not one.outcome_error and one.verdict is not Verdict.DENY]
    files = dict.fromkeys(_short(path.resolved) for one in ran if one.tool in _READS for path in one.paths)
    searches = sum(1 for one in ran if one.tool in {"Glob", "Grep", "ListFiles"})
    return {"files": [*files], "searches": searches}


def _short(path: PurePosixPath) -> str:
    return str(path.relative_to(WORKSPACE)) if path.is_relative_to(WORKSPACE) else str(path)


def _arguments(tool: str, raw: str) -> Mapping[str, Json]:
    call: ToolCall = parse_call(tool, raw)
    return call.input or {}


def _was_decided_before(one: ApprovalRow, row: ApprovalRow) -> bool:
    """What came after a call was decided is no habit that the decision could have followed."""
    return row.decided_at is None or one.decided_at is None or one.decided_at <= row.decided_at


def _by_a_person(row: ApprovalRow) -> bool:
    return row.decided_by is not None and row.decided_by.channel not in _NOBODY
