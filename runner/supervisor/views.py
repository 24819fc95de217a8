"""Rows as the contract's JSON (cli.md): the one place where a column gets its public name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from runner.broker import UNDO
from runner.lifecycle import ApprovalState, CaptureState, RunState, word
from runner.model import Json, JsonObject, ResolvedPath, Sender, SenderKind
from runner.policy.taint import Taint
from runner.store import ApprovalRow, AuditRow, CallRow, CaptureRow, RunRow, SegmentRow, taints
from runner.store.signatures import SignatureRow
from runner.store.threads import Part
from runner.supervisor.acts import undoes
from runner.supervisor.beside import sentence
from runner.supervisor.concealed import of_content
from runner.supervisor.edited import edited_view
from runner.supervisor.live import LiveSegment


class RunFacts(NamedTuple):
    """A run with what belongs to it."""

    row: RunRow
    segments: Sequence[SegmentRow]
    calls: Sequence[CallRow]
    waiting: Sequence[ApprovalRow]
    taint: Sequence[Taint] = ()
    spent: JsonObject | None = None  #: what it cost, and which budget it waits for
    hidden: Sequence[Json] = ()  #: what its capture hid from a reader
    thread: JsonObject | None = None  #: the one it belongs to
    gateway: JsonObject | None = None  #: what its gateways noticed


def sender_name(sender: Sender) -> str:
    """`owner`, or the contact's petname and fingerprint; never a claimed name (R14)."""
    if sender.kind is SenderKind.OWNER:
        return "owner"
    return f"{sender.petname} ⟨{sender.fingerprint}⟩"


def run_line(row: RunRow) -> JsonObject:
    """A run in a list."""
    return {
        "id": row.id,
        "agent": row.agent,
        "state": row.state.value,
        "word": word(row.state),
        "sender": sender_name(row.sender),
        "created": row.created,
        "updated": row.updated,
        "reason": row.reason,
        "capture": row.capture,
    }


def run_view(facts: RunFacts, live: LiveSegment | None) -> JsonObject:
    """`run show --json`, with what `--wait` and people need besides."""
    row = facts.row
    return {
        **run_line(row),
        "strict": row.strict,
        "taint": taint_view(facts.taint),
        "thread": facts.thread,
        "hidden": [*facts.hidden],
        "gateway": facts.gateway or {},
        "segments": [_segment(segment) for segment in facts.segments],
        "calls": [_call(call) for call in facts.calls],
        "reply": row.reply if row.state is RunState.REPLIED else None,
        "usage": {
            "requests": row.usage.requests,
            "turns": row.usage.turns,
            "input_tokens": row.usage.input_tokens,
            "output_tokens": row.usage.output_tokens,
            **(facts.spent or {}),
        },
        "version": row.version,
        "profile_digest": row.profile_digest,
        "approvals": [*_ids(facts, ApprovalState.PENDING)],
        "unknown": [*_ids(facts, ApprovalState.UNKNOWN)],
        "progress": _progress(facts, live),
    }


def approval_line(row: ApprovalRow) -> JsonObject:
    """An approval in a list."""
    return {
        "id": row.id,
        "run": row.run,
        "agent": row.agent,
        "tool": row.tool,
        "does": sentence(row),
        "state": row.state.value,
        "why": row.why,
        "digest": row.effective.approval_digest,
        "created": row.created,
        "expires": row.expires,
        "sender": sender_name(row.sender),
    }


def signatures_view(row: ApprovalRow, given: Sequence[SignatureRow]) -> JsonObject:
    """Who has signed what would be carried out, where more than one has to (D5)."""
    signed: list[Json] = [{"name": one.by.name, "key_id": one.key_id, "at": one.at} for one in given]
    return {"signatures": {"required": row.required, "given": signed}}


def approval_view(row: ApprovalRow, arguments: Json, history: Sequence[AuditRow]) -> JsonObject:
    """`show --json` of an approval. `arguments` is the exact input of what is carried out, parsed."""
    made = row.effective
    return {
        **approval_line(row),
        "call_digest": made.call_digest,
        "reason": row.reason,
        "input": arguments,
        "raw": made.raw,
        **edited_view(row),
        "paths": paths_view(made.paths),
        "preview": made.preview,
        "warnings": list(made.warnings),
        "taint": taint_view(taints.load(row.recorded.get("taint", "[]"))),
        "history": [{"time": event.time, "event": event.event, "data": event.data} for event in history],
        "decided_by": None if row.decided_by is None else (row.decided_by.name or f"uid {row.decided_by.uid}"),
        "decided_at": row.decided_at,
        "decision_reason": row.decision_reason,
        "outcome": row.outcome,
        "outcome_error": row.outcome_error,
        "undoes": undoes(row) if row.tool == UNDO else None,
        "version": row.version,
        "profile_digest": row.profile_digest,
    }


def capture_view(row: CaptureRow, content: JsonObject, runs: Sequence[RunRow]) -> JsonObject:
    """A capture with its runs; image bytes are left out, and all of a stub's content (R32)."""
    if row.state is CaptureState.STUB:
        content = {}
    images = content.get("images")
    shown: list[Json] = []
    for image in images if isinstance(images, list) else []:
        if isinstance(image, dict):
            shown.append({key: value for key, value in image.items() if key != "data"})
    return {
        "id": row.id,
        "agent": row.agent,
        "sender": sender_name(row.sender),
        "created": row.created,
        "state": row.state.value,
        "content": {**content, "images": shown},
        "hidden": of_content(content),
        "runs": [run.id for run in runs],
    }


def event_line(row: AuditRow) -> JsonObject:
    """A row of the audit: when, who, what, to which id; `data` holds facts and digests, never a call's input."""
    data: JsonObject = json.loads(row.data)
    return {"seq": row.seq, "time": row.time, "who": _who(data), "event": row.event, "subject": row.subject, "data": data}


def paths_view(paths: Sequence[ResolvedPath]) -> Json:
    """Paths as asked and as resolved."""
    return [{"asked": path.asked, "resolved": str(path.resolved)} for path in paths]


def taint_view(found: Sequence[Taint]) -> Json:
    """What untrusted content was in the run, source by source, in the order in which it came (P4)."""
    return [
        {
            "says": taint.says,
            "kind": taint.kind.value,
            "source": taint.source,
            "sender": None if taint.sender is None else sender_name(taint.sender),
            "run": taint.run,
        }
        for taint in found
    ]


def thread_view(part: Part, taint: Sequence[Taint]) -> JsonObject:
    """A thread as one of its runs has it: what the run continues, and the untrusted content that came along with that."""
    return {"name": part.thread, "continues": part.continues, "taint": taint_view(taint)}


def _who(data: JsonObject) -> str:
    """Who did it: the person on record, the sender of what came in, else the supervisor itself."""
    by = data.get("by", data if "uid" in data else None)
    if isinstance(by, dict):
        return str(by.get("name") or f"uid {by.get('uid')}")
    match data.get("sender_kind"):
        case None:
            return "supervisor"
        case SenderKind.OWNER.value:
            return "owner"
        case _:
            return f"{data.get('sender_petname')} ⟨{data.get('sender_fingerprint')}⟩"


def _segment(segment: SegmentRow) -> JsonObject:
    return {
        "segment": segment.segment,
        "attempt": segment.attempt,
        "container": segment.container_id,
        "created": segment.created,
        "ended": segment.ended,
        "reason": segment.reason,
    }


def _call(call: CallRow) -> JsonObject:
    return {
        "n": call.n,
        "turn": call.turn,
        "tool": call.tool,
        "input": call.raw,
        "verdict": call.verdict.value,
        "rank": call.rank,
        "rule": call.rule,
        "reason": call.reason,
        "outcome": call.outcome,
    }


def _progress(facts: RunFacts, live: LiveSegment | None) -> str:
    """One line on what is going on, for `send --wait`."""
    state: RunState = facts.row.state
    match state:
        case RunState.QUEUED:
            return "queued"
        case RunState.STARTING:
            return "starting the container"
        case RunState.RUNNING:
            last = facts.calls[-1] if facts.calls else None
            doing = f"last call: {last.tool}" if last is not None else "thinking"
            return f"container proven; {doing}" if live is not None and live.proven else doing
        case RunState.HELD | RunState.PARKED:
            return _waits_for(facts)
        case _:
            return str(state.value)


def _waits_for(facts: RunFacts) -> str:
    pending, unknown = _ids(facts, ApprovalState.PENDING), _ids(facts, ApprovalState.UNKNOWN)
    if pending:
        return f"waiting for a person: {', '.join(pending)}"
    if unknown:
        return f"waiting for a person to settle {', '.join(unknown)}"
    if facts.spent is not None and facts.spent["waits_for"] is not None:
        return f"waiting for a person: {facts.spent['waits_for']}; runner run raise {facts.row.id}"
    return "carrying out what was approved"


def _ids(facts: RunFacts, state: ApprovalState) -> list[str]:
    return [row.id for row in facts.waiting if row.state is state]
