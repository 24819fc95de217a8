"""The approval card of a call that nobody has queued: the record `runner show` would be given, made from the same plan."""

from __future__ import annotations

from pathlib import Path

from runner.api.explaining import Explained
from runner.broker import Impossible, Plan, plan
from runner.broker.cautions import cautions
from runner.broker.saying import Spoken, does
from runner.model import JsonObject, Profile, SenderKind
from runner.policy.catalogue import TOOLS, Place

#: Stands where an id and a run would.
_NONE = "(not queued)"
IN_CONTAINER = "Runs in the container, on the snapshot of the agent's directory; it changes nothing."


def card_of(found: Explained, profile: Profile, *, folder: Path, sender: SenderKind, now: float) -> JsonObject | str:
    """What a person would be shown before they decide; text: why nobody would be asked after all.

    Args:
        found: A call that would wait.
        profile: Its agent.
        folder: The directory it would act on.
        sender: Whose capture it would come from.
        now: Epoch seconds, for the deadline.
    """
    call, decision = found.call, found.decision
    known = TOOLS.get(call.tool)
    planned: Plan | None = None
    if known is None or known.place is Place.BROKER:
        tried = plan(call.tool, call.input or {}, paths=decision.paths, cwd=folder)
        if isinstance(tried, Impossible):
            return tried.reason
        planned = tried
    spoken = Spoken(
        tool=call.tool, arguments=call.input or {}, paths=decision.paths, pre_images=planned.pre_images if planned else {}
    )
    warned = (*(planned.warnings if planned is not None else ()), *cautions(spoken))
    return {
        "id": _NONE,
        "run": _NONE,
        "agent": profile.name,
        "tool": call.tool,
        "does": does(spoken),
        "state": "pending",
        "sender": sender.value,
        "reason": decision.reason,
        "paths": [{"asked": path.asked, "resolved": str(path.resolved)} for path in decision.paths],
        "expires": now + profile.approvals.expires,
        "warnings": [*dict.fromkeys(warned)],
        "input": dict(call.input or {}),
        "preview": planned.preview if planned is not None else IN_CONTAINER,
        "call_digest": decision.call_digest,
    }
