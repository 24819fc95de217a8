"""The queue of calls that wait for a person: open, find, decide, carry out once, tell once.

Every function takes the connection of a transaction that `Store` began, changes rows by compare-and-set, and leaves an audit
row in the same transaction. Nothing here performs an effect or asks a clock.
"""

from runner.approvals.batch import approve_all, deny_all
from runner.approvals.decide import CLOCK_SLACK, approve, deny, end_for_run, expire_due, find, settle, stale
from runner.approvals.editing import Edited, bind, store_edit
from runner.approvals.effects import WITHDRAWN, begin_effect, deliver, end_unused, finish_effect, fits
from runner.approvals.extending import extend
from runner.approvals.listing import Listing, listing
from runner.approvals.opening import Caps, Refusal, Request, open_turn
from runner.approvals.outcomes import OUTCOME_BYTES, bounded, is_error, outcome_text
from runner.approvals.refusals import too_late
from runner.store import ApprovalRow, Approver

__all__ = [
    "CLOCK_SLACK",
    "OUTCOME_BYTES",
    "WITHDRAWN",
    "ApprovalRow",
    "Approver",
    "Caps",
    "Edited",
    "Listing",
    "Refusal",
    "Request",
    "approve",
    "approve_all",
    "begin_effect",
    "bind",
    "bounded",
    "deliver",
    "deny",
    "deny_all",
    "end_for_run",
    "end_unused",
    "expire_due",
    "extend",
    "find",
    "finish_effect",
    "fits",
    "is_error",
    "listing",
    "open_turn",
    "outcome_text",
    "settle",
    "stale",
    "store_edit",
    "too_late",
]
