"""Putting a turn's gated calls into the queue together, each bound to the exact bytes a person will be shown (B1, B2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from runner.approvals.decide import apply
from runner.approvals.denied import EARLIER_NO, ROUTED_AROUND, Earlier, earlier_no
from runner.approvals.words import storable
from runner.digest import MalformedJsonError, approval_digest, call_digest, parse_call
from runner.lifecycle import ApprovalEvent, ApprovalState
from runner.model import ApprovalId, CallId, Digest, Json, ResolvedPath, RunId, Sender, SenderKind
from runner.store import ApprovalRow, Approver, Connection, audit, grants
from runner.store import approvals as rows
from runner.store.approvals import ApprovalChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything needed to open one approval.

    `raw` is the exact input as received; the digests are computed here, from these bytes. `pre_images` maps the real path of
    each target to the digest of its bytes, None where it is absent; `post_image` is what the effect is to leave. `recorded`
    is kept beside the call and bound by nothing: image digest, policy version, taint (B1). `standing`: who said yes to such
    calls beforehand; nobody is asked, and all the rest is as for any other (R72).
    """

    call: CallId
    run: RunId
    segment: int
    attempt: int
    turn: int
    agent: str
    profile_digest: Digest
    tool: str
    definition_digest: Digest
    raw: str
    why: str
    reason: str
    sender: Sender
    expires_at: float
    paths: tuple[ResolvedPath, ...] = ()
    pre_images: Mapping[str, Digest | None] = field(default_factory=lambda: MappingProxyType({}))
    post_image: Digest | None = None
    preview: str = ""
    warnings: tuple[str, ...] = ()
    recorded: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    standing: Approver | None = None
    required: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A call that was not queued; `reason` is what its agent is told (P12)."""

    call: CallId
    code: str  #: limit, too_large_to_review or malformed
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much may wait (L8). Contacts get less, so that they cannot crowd the owner out.

    Of what an agent, and all agents together, may have waiting the second half is for the owner's runs alone.
    """

    per_run: int = 20
    per_contact_run: int = 3
    per_contact: int = 12  #: in all of a contact's runs together, so that many captures are no way round
    per_agent: int = 20_000
    overall: int = 40_000
    per_minute: int = 60  #: calls that one run may put before a person within a minute, answered or not
    input_bytes: int = 256 * 1024


CAPS = Caps()


def open_turn(  # noqa: PLR0913 -- time, chance and limits come from above
    conn: Connection,
    requests: Sequence[Request],
    *,
    now: float,
    ids: Callable[[], ApprovalId],
    nonces: Callable[[], str],
    caps: Caps = CAPS,
) -> tuple[ApprovalRow | Refusal, ...]:
    """Queue all gated calls of a turn.

    Args:
        conn: One transaction: all are queued or none.
        requests: In the turn's order.
        now: Epoch seconds.
        ids: Makes approval ids.
        nonces: Makes random text, one for each row.
        caps: What is refused instead of queued.

    Returns:
        For each request, in order, its row or the refusal it met; what a person denied before is a row that is denied already.
    """
    opened: list[ApprovalRow | Refusal] = []
    for request in requests:
        row = _over(conn, request, caps, now) or _bind(request, approval=ids(), nonce=nonces(), now=now)
        opened.append(_refuse(conn, row, request, now) if isinstance(row, Refusal) else _insert(conn, row, request, now))
    return tuple(opened)


def _insert(conn: Connection, row: ApprovalRow, request: Request, now: float) -> ApprovalRow:  # noqa: PLR0917
    said = None if _is_a_persons(request) else earlier_no(conn, row)
    if said is not None and _may_have_been_denied(request):
        return _deny_again(conn, rows.insert(conn, replace(row, why=said.rule)), said, now)
    if said is not None and said.rule == ROUTED_AROUND:
        # The standing yes is no answer to a no that a person gave to this very target: it is theirs to give again.
        return rows.insert(conn, replace(row, why=said.rule, reason=f"{row.reason} But {said.says}."))
    queued = rows.insert(conn, row)
    if request.standing is None or request.required > 1:  # a standing yes is one person's (D5)
        return queued
    words: ApprovalChange = {"decided_by": request.standing, "decided_at": now, "decision_reason": queued.reason}
    return rows.move(conn, row.id, ApprovalEvent.APPROVE, now=now, **words) or queued


def _may_have_been_denied(request: Request) -> bool:
    """A grant speaks of calls in general; a person's no to this very call of this run is more than that (B10, D3)."""
    return request.standing is None or request.standing.channel == grants.CHANNEL


def _refuse(conn: Connection, refusal: Refusal, request: Request, now: float) -> Refusal:  # noqa: PLR0917
    """Put on record that a call was not queued: people are told of those over a cap, all at once (L8)."""
    facts: dict[str, Json] = {"run": request.run, "agent": request.agent, "tool": request.tool, "code": refusal.code}
    audit.append(conn, time=now, event="approval.refused", subject=request.call, data=facts)
    return refusal


def _is_a_persons(request: Request) -> bool:
    """Whether a person asks for it, as for an undo."""
    return request.standing is not None and request.standing.channel not in {grants.CHANNEL, EARLIER_NO.channel}


def _deny_again(conn: Connection, row: ApprovalRow, said: Earlier, now: float) -> ApprovalRow:  # noqa: PLR0917
    words: ApprovalChange = {"decided_by": EARLIER_NO, "decided_at": now, "decision_reason": said.says, "outcome_error": True}
    return apply(conn, row.id, ApprovalEvent.DENY, now=now, change=words) or row


def _bind(request: Request, *, approval: ApprovalId, nonce: str, now: float) -> ApprovalRow | Refusal:
    call = parse_call(request.tool, request.raw)
    if call.input is None:
        return _malformed(request, call.fault or "malformed")
    try:
        where = [str(path.resolved) for path in request.paths]
        exact = call_digest(tool=request.tool, definition=request.definition_digest, arguments=call.input, paths=where)
        whole = approval_digest(call=exact, run=request.run, approval=approval, nonce=nonce, pre_images=request.pre_images)
    except MalformedJsonError as error:
        return _malformed(request, str(error))
    return _row(request, approval=approval, nonce=nonce, digests=(exact, whole), now=now)


def _over(conn: Connection, request: Request, caps: Caps, now: float) -> Refusal | None:  # noqa: PLR0917
    if len(request.raw.encode("utf-8", "surrogatepass")) > caps.input_bytes:
        reason = f"refused: the input is larger than the {caps.input_bytes} bytes a person can review; make it smaller"
        return Refusal(call=request.call, code="too_large_to_review", reason=reason)
    too_many = _too_many(conn, request, caps, now) if request.standing is None else None
    return None if too_many is None else Refusal(call=request.call, code="limit", reason=f"refused: {too_many}")


def _too_many(conn: Connection, request: Request, caps: Caps, now: float) -> str | None:  # noqa: PLR0917
    """Why nobody is asked about one call more; None where there is room."""
    owners = request.sender.kind is SenderKind.OWNER
    limit = caps.per_run if owners else caps.per_contact_run
    if rows.pending(conn, request.run) >= limit:
        return f"{limit} calls of this run already wait for a person; do not ask for more until they are answered"
    if not owners and rows.count(conn, sender=request.sender, states={ApprovalState.PENDING}) >= caps.per_contact:
        return f"{caps.per_contact} calls of this sender's runs already wait for a person; do not ask for more until then"
    if rows.count(conn, run=request.run, states=[*ApprovalState], since=now - 60) >= caps.per_minute:
        return f"this run has asked for {caps.per_minute} calls within a minute; ask for the next one later"
    share = 1 if owners else 2
    for most, agent in ((caps.per_agent, request.agent), (caps.overall, None)):
        if rows.count(conn, agent=agent, states={ApprovalState.PENDING}) >= most // share:
            return "too many calls wait for a person on this host; do not ask for more until they are answered"
    return None


def _malformed(request: Request, fault: str) -> Refusal:
    return Refusal(call=request.call, code="malformed", reason=f"refused: the input cannot be read: {fault}; correct it")


def _row(request: Request, *, approval: ApprovalId, nonce: str, digests: tuple[Digest, Digest], now: float) -> ApprovalRow:
    return ApprovalRow(
        id=approval,
        nonce=nonce,
        call_digest=digests[0],
        approval_digest=digests[1],
        created=now,
        expires=request.expires_at,
        call=request.call,
        run=request.run,
        segment=request.segment,
        attempt=request.attempt,
        turn=request.turn,
        agent=request.agent,
        tool=request.tool,
        profile_digest=request.profile_digest,
        definition_digest=request.definition_digest,
        why=request.why,
        reason=storable(request.reason),
        raw=request.raw,
        sender=request.sender,
        paths=request.paths,
        pre_images=request.pre_images,
        post_image=request.post_image,
        preview=storable(request.preview),
        warnings=tuple(storable(text) for text in request.warnings),
        recorded=request.recorded,
        required=request.required,
    )
