"""The audit as a trace for the `agentack` checker, an outside judge of whether approvals bind what is carried out (A4). Pure.

Everything is taken from the rows of the audit, none from what the supervisor thinks now. An action is named by digests: of the
exact call, of its target, of what it leaves there; so the trace tells nobody what was written. An effect counts as executed
once its outcome is on record. Calls that the gate refused by itself were never a person's to decide and are left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runner.approvals.effects import UNUSED_SECONDS
from runner.broker import UNDO
from runner.model import Json, JsonObject, ToolClass
from runner.policy.catalogue import TOOLS
from runner.store.chain import Link

#: The checker's schema.
_SCHEMA = 2
_KINDS: Mapping[ToolClass, tuple[str, str]] = {
    ToolClass.READ: ("filesystem", "read"),
    ToolClass.WRITE: ("filesystem", "write"),
    ToolClass.DELETE: ("filesystem", "delete"),
    ToolClass.EXECUTE: ("shell", "run"),
    ToolClass.EXTERNAL_SEND: ("network", "send"),
    ToolClass.UNKNOWN: ("mcp", "call"),
}
#: Ends of a call that nobody said yes to: the checker knows one word for all of them.
_NO = frozenset({"approval.deny", "approval.expire", "approval.no_channel", "approval.supersede", "approval.cancel"})
_NOT_DONE = _NO | {"approval.go_stale", "approval.settle_not_happened"}
_DONE = frozenset({"approval.succeed", "approval.fail", "approval.settle_happened"})
_RUN_ENDS = frozenset({"run.reply", "run.fail", "run.cancel", "run.lose"})


@dataclass(slots=True, kw_only=True)
class _Case:
    """One call that a person was asked about, as the rows tell it so far. An edit makes another action of it."""

    id: str
    call: str
    run: str
    tool: str
    expires: float
    known: dict[str, JsonObject] = field(default_factory=dict)  #: approval digest → action
    suffix: str = ""
    decided: bool = False

    @property
    def action(self) -> JsonObject:
        """What is asked about now."""
        return [*self.known.values()][-1]

    @property
    def ids(self) -> JsonObject:
        """Who is who in an event."""
        who: JsonObject = {"action_id": self.call + self.suffix, "approval_id": self.id + self.suffix}
        return who | {"intent_id": _intent(self.run, self.action)}


@dataclass(frozen=True, slots=True)
class _Row:
    link: Link
    facts: JsonObject

    def text(self, name: str) -> str:
        """A fact as text; "" where it is absent."""
        value = self.facts.get(name)
        return value if isinstance(value, str) else ""


def trace(links: Iterable[Link], *, run: str | None = None) -> Iterator[JsonObject]:
    """The events of a trace, a JSON object each; a session is the whole audit, or one run of it.

    Args:
        links: Every row of the audit, by its number.
        run: Only of this run, whole id; only then a stop is an interrupt, which ends a session for the checker.
    """
    rows = [_Row(link, json.loads(link.data)) for link in links]
    teller = _Teller(rows, run)
    for row in rows:
        yield from teller.tell(row)
    if rows:
        yield teller.event(rows[-1], "session_end")


class _Teller:
    """Turns rows into events, with a look ahead at what becomes of each call."""

    def __init__(self, rows: list[_Row], run: str | None) -> None:
        self._run = run
        self._session = run or f"audit {rows[0].link.hash if rows else ''}"
        self._cases: dict[str, _Case] = {}
        self._open: dict[str, dict[str, JsonObject]] = defaultdict(dict)  #: run → its container's calls without an end
        self._requests = {row.text("call"): row for row in rows if row.link.event == "approval.request"}
        self._later: dict[str, list[_Row]] = defaultdict(list)
        for row in rows:
            if row.link.event.startswith("approval."):
                self._later[row.link.subject].append(row)

    def event(self, row: _Row, kind: str, **more: Json) -> JsonObject:
        """An event of the checker's schema at a row's time."""
        when = datetime.fromtimestamp(row.link.time, UTC).isoformat()
        fields: JsonObject = {"schema_version": _SCHEMA, "type": kind, "timestamp": when, "session_id": self._session}
        return fields | {name: value for name, value in more.items() if value is not None}

    def tell(self, row: _Row) -> Iterator[JsonObject]:
        """What a row adds to the trace."""
        event = row.link.event
        if event == "call.decide":
            yield from self._proposed(row)
        elif event == "call.outcome":
            yield from self._ran_in_container(row)
        elif event in _RUN_ENDS and self._run in {None, row.link.subject}:
            yield from self._run_ended(row)
        elif event == "approval.request" and self._is_ours(row.text("run")):
            yield from self._requested(row)
        elif (case := self._cases.get(row.link.subject)) is not None:
            yield from self._about(case, row)

    def _about(self, case: _Case, row: _Row) -> Iterator[JsonObject]:
        match row.link.event:
            case "approval.extend":
                case.expires = _number(row.facts.get("expires"), case.expires)
            case "approval.edit":
                yield from self._edited(case, row)
            case "approval.approve":
                yield self._decision(case, row, "allow", until=min(case.expires, row.link.time + UNUSED_SECONDS))
            case "approval.execute":
                yield from self._executed(case, row)
            case event if event in _NOT_DONE:
                if event in _NO and row.text("from") == "pending":
                    yield self._decision(case, row, "deny", until=None)
                yield self.event(row, "action_blocked", reason=event.removeprefix("approval."), **case.ids)

    def _proposed(self, row: _Row) -> Iterator[JsonObject]:
        call, run = row.link.subject, row.text("run")
        request = self._requests.get(call)
        if not self._is_ours(run) or (request is None and row.text("verdict") != "allow"):
            return
        action = _action(row.text("tool"), row, like=request)
        if request is None:
            self._open[run][call] = action
        yield self.event(row, "action_proposed", action_id=call, intent_id=_intent(run, action), action=action)

    def _requested(self, row: _Row) -> Iterator[JsonObject]:
        case = _Case(
            id=row.link.subject,
            call=row.text("call"),
            run=row.text("run"),
            tool=row.text("tool"),
            expires=_number(row.facts.get("expires"), row.link.time),
        )
        self._cases[case.id] = case
        case.known[row.text("digest")] = action = _action(case.tool, row, like=row)
        yield self.event(row, "approval_requested", action=action, **case.ids)

    def _edited(self, case: _Case, row: _Row) -> Iterator[JsonObject]:
        """What was proposed is refused; what an approver made of it is another action, shown and decided like any (D2)."""
        yield self._decision(case, row, "deny", until=None)
        yield self.event(row, "action_blocked", reason="edited", **case.ids)
        case.suffix, case.decided = f"/edit{case.suffix.count('/') + 1}", False
        case.known[row.text("digest")] = action = _action(case.tool, row, like=row)
        ids = case.ids
        proposed = {name: value for name, value in ids.items() if name != "approval_id"}
        yield self.event(row, "action_proposed", action=action, **proposed)
        yield self.event(row, "approval_requested", action=action, **ids)

    def _decision(self, case: _Case, row: _Row, decision: str, *, until: float | None) -> JsonObject:
        case.decided = True
        expires = None if until is None else datetime.fromtimestamp(until, UTC).isoformat()
        ids = case.ids
        return self.event(row, "approval_decision", decision=decision, expires_at=expires, **ids)

    def _executed(self, case: _Case, row: _Row) -> Iterator[JsonObject]:
        """An effect at the time it began, once its outcome is on record; by its own word on what it left (B8)."""
        ended = self._outcome(row)
        if ended is None:
            return
        action = case.known.get(row.text("digest")) or _action(case.tool, row, like=None)
        left = ended.text("left")
        if left:
            given = action["parameters"]
            action = action | {"parameters": (given if isinstance(given, dict) else {}) | {"leaves": left}}
        ids = case.ids
        if not (case.decided or self._is_decided(case, row)):
            ids["approval_id"] = None  # nobody has ever decided: it was carried out on no authority
        yield self.event(row, "action_executed", action=action, **ids)

    def _outcome(self, row: _Row) -> _Row | None:
        """What became of an effect that was begun; None where it did not happen or nobody knows."""
        for later in self._later[row.link.subject]:
            if later.link.seq > row.link.seq:
                if later.link.event in _DONE:
                    return later
                if later.link.event in {"approval.not_happened", "approval.execute", "approval.settle_not_happened"}:
                    return None
        return None

    def _is_decided(self, case: _Case, row: _Row) -> bool:
        later = (one.link for one in self._later[case.id])
        return any(link.event in {"approval.approve", "approval.deny"} and link.seq > row.link.seq for link in later)

    def _ran_in_container(self, row: _Row) -> Iterator[JsonObject]:
        """A call that nobody had to be asked about. What could not be run, or was an error, changed nothing."""
        for run, calls in self._open.items():
            action = calls.pop(row.link.subject, None)
            if action is not None:
                yield self._ended(row, row.link.subject, _intent(run, action), action)
                return

    def _ended(self, row: _Row, call: str, intent: str, action: JsonObject) -> JsonObject:  # noqa: PLR0917
        if row.link.event == "call.outcome" and row.facts.get("error") is not True:
            return self.event(row, "action_executed", action_id=call, intent_id=intent, action=action)
        return self.event(row, "action_blocked", action_id=call, intent_id=intent, reason="not run")

    def _run_ended(self, row: _Row) -> Iterator[JsonObject]:
        """Its calls in the container end with it; a run that goes on later asks anew."""
        for call, action in self._open.pop(row.link.subject, {}).items():
            yield self._ended(row, call, _intent(row.link.subject, action), action)
        if self._run is not None and row.link.event == "run.cancel":
            yield self.event(row, "interrupt", reason="stopped")

    def _is_ours(self, run: str) -> bool:
        return self._run is None or run == self._run


def _action(tool: str, row: _Row, *, like: _Row | None) -> JsonObject:
    """An action of the checker's schema: what kind, on what, and by digests exactly what.

    Args:
        tool: The profile's name for it.
        row: Has the digest of the call.
        like: Has what the supervisor planned for it: target and what is to be left there.
    """
    known = TOOLS.get(tool)
    kind, operation = _KINDS[ToolClass.WRITE if tool == UNDO else known.tool_class if known else ToolClass.UNKNOWN]
    if known is not None and known.egress and known.tool_class is ToolClass.READ:
        kind, operation = "network", "request"
    planned = like or row
    call = row.text("call_digest") or planned.text("call_digest")
    parameters: JsonObject = {"name": tool, "call": call, "leaves": planned.text("leaves")}
    return {"tool": kind, "operation": operation, "resource": planned.text("target"), "parameters": parameters}


def _intent(run: str, action: JsonObject) -> str:
    """What a call is after: its target, whatever the tool, else the exact call; of one run."""
    given = action["parameters"]
    return f"{run} {action['resource'] or (given.get('call') if isinstance(given, dict) else '')}"


def _number(value: Json, fallback: float) -> float:
    return float(value) if isinstance(value, int | float) else fallback
