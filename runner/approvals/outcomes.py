"""What an agent is told about its call: each kind of no in its own words, bounded, with no approval id in it. Pure."""

from __future__ import annotations

import json
import re

from runner.digest import parse_call
from runner.lifecycle import ApprovalState
from runner.store import ApprovalRow

#: Near 50,000 characters the CLI swaps a result for a 2 KB preview (design.md §2.4).
OUTCOME_BYTES = 32 * 1024

_ID = re.compile(r"\ba_[0-9a-hjkmnp-tv-z]{6,16}\b", re.IGNORECASE)
_AGAIN = "Do not retry it unchanged."

#: Endings without words of their own from a broker; `{}` is the reason on record, or nothing.
_SENTENCES = {
    ApprovalState.DENIED: f"Denied: a person looked at this call and said no.{{}} Nothing was done. {_AGAIN}",
    ApprovalState.EXPIRED: f"Expired: nobody decided about this call in time.{{}} Nothing was done. {_AGAIN}",
    ApprovalState.NO_CHANNEL: f"Denied: this run is unattended and nobody can be asked.{{}} Nothing was done. {_AGAIN}",
    ApprovalState.STALE: (
        "Stale: this call was approved, but what it was approved for has changed since.{} Nothing was done. "
        "Look again, and ask anew if it is still wanted."
    ),
    ApprovalState.SUPERSEDED: f"Superseded: this run can no longer take an answer to this call.{{}} Nothing was done. {_AGAIN}",
    ApprovalState.CANCELLED: f"Cancelled: the run was ended before this call was carried out.{{}} Nothing was done. {_AGAIN}",
    ApprovalState.UNKNOWN: f"Unknown: this call was approved and may have happened; nobody knows yet. {_AGAIN}",
}


#: Ends of a call that nobody said yes to: what somebody had made of it before is nothing to its agent.
_NEVER_APPROVED = frozenset({ApprovalState.DENIED, ApprovalState.EXPIRED, ApprovalState.NO_CHANNEL, ApprovalState.SUPERSEDED})
#: What an agent is told of an edit, before the arguments as the person changed them.
EDITED = "A person changed this call before approving it; it was not carried out as you asked. Changed to:"


def outcome_text(row: ApprovalRow) -> str:
    """What the agent is told about a call that has ended, at most `OUTCOME_BYTES` (P12, invariant 7).

    Raises:
        ValueError: The call has no outcome yet.
    """
    match row.state:
        case ApprovalState.DONE:
            return bounded(_edited(row, (row.outcome or "Done.").replace(row.id, "[id]")))
        case ApprovalState.FAILED:
            cause = (row.outcome or "no reason is on record").replace(row.id, "[id]")
            return bounded(_edited(row, f"Failed: this call was approved and tried, but did not succeed: {cause}"))
        case ApprovalState.STALE if row.outcome:
            said = row.outcome.replace(row.id, "[id]")
            return bounded(_edited(row, f"{said} It had been approved before; nothing was done. {_AGAIN}"))
        case ApprovalState.PENDING | ApprovalState.APPROVED | ApprovalState.EXECUTING:
            raise ValueError(f"a call that is {row.state.value} has no outcome")
        case _:
            return bounded(_edited(row, ending(row.state, row.decision_reason)))


def ending(state: ApprovalState, reason: str | None = None) -> str:
    """What the agent is told of an end that has no words of its own.

    Raises:
        KeyError: There is none: the call is done, failed or under way.
    """
    return _SENTENCES[state].format(_because(reason))


def settled_text(*, happened: bool, reason: str | None) -> str:
    """The outcome of a call that a person settled after the supervisor had lost sight of it."""
    found = "Done. The supervisor was interrupted; a person looked and found it done."
    if not happened:
        found = "the supervisor was interrupted, and a person looked and found that it was not done."
    return bounded(f"{found}{_because(reason)}")


def is_error(row: ApprovalRow) -> bool:
    """Whether the agent is told the outcome as an error: everything but done."""
    return row.state is not ApprovalState.DONE or row.outcome_error


def bounded(text: str) -> str:
    """`text` as database, wire and CLI all keep it: no NUL, no half characters, at most `OUTCOME_BYTES`, a cut noted."""
    data = text.replace("\0", "\ufffd").encode("utf-8", "replace")
    if len(data) <= OUTCOME_BYTES:
        return data.decode()
    note = f"\n[cut off: {len(data)} bytes in all]"
    return data[: OUTCOME_BYTES - len(note)].decode("utf-8", "ignore") + note


def _edited(row: ApprovalRow, told: str) -> str:
    """`told`, and, where a person changed the input of what they approved, that and what they changed it to (D2)."""
    if row.edit is None or row.decided_by is None or row.state in _NEVER_APPROVED:
        return told
    before, after = (parse_call(row.tool, raw).input or {} for raw in (row.raw, row.edit.raw))
    changed = {key: value for key, value in after.items() if key not in before or before[key] != value}
    gone = [key for key in before if key not in after]
    said = _ID.sub("[id]", json.dumps(changed, ensure_ascii=False))
    left_out = f" Left out: {', '.join(gone)}." if gone else ""
    return f"{told}\n{EDITED} {said}{left_out}"


def _because(reason: str | None) -> str:
    """A person's reason, without ids: they may have pasted one."""
    if not reason or not reason.strip():
        return ""
    return f' The reason given: "{_ID.sub("[id]", reason.strip())}".'
