"""Several calls decided with one word: all of them or none (D4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runner.api.client import Client, as_object
from runner.cli.shared import need_ref, reach
from runner.errors import AlreadyDecidedError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import Json, JsonObject
from runner.render.values import objects_at, text_at


class Named(NamedTuple):
    """One `ID` or `ID=DIGEST` of the command line."""

    ref: str
    digest: str | None


def named(texts: Sequence[str], digest: str | None, snapshot: str | None) -> list[Named]:
    """What the command line names; `--digest` belongs to the only one.

    Raises:
        UsageError: Nothing, or calls besides a list; one digest for several calls, or two for one.
    """
    if bool(texts) == (snapshot is not None) or (snapshot is not None and digest is not None):
        raise UsageError("cannot decide: name either calls or a list with --all-shown", resolution="runner approvals")
    found = [Named(ref, given if mark else None) for ref, mark, given in (text.partition("=") for text in texts)]
    if digest is None:
        return found
    if len(found) != 1:
        raise UsageError(
            "cannot approve several with one digest: a digest fits one call", resolution="name them ID=DIGEST each"
        )
    if found[0].digest is not None:
        raise UsageError("cannot approve with two digests", resolution="leave --digest out")
    return [Named(found[0].ref, digest)]


def all_waiting(client: Client, calls: Sequence[Named]) -> list[str]:
    """The whole id of each; of several, all wait before the first is decided about.

    Raises:
        NotFoundError: One of them names no approval.
        AlreadyDecidedError: One of them does not wait any more.
    """
    ids = [reach(client, call.ref, "approval").id for call in calls]
    for id in ids if len(ids) > 1 else []:
        state = text_at(client.record("approvals", id), "state")
        if state != ApprovalState.PENDING.value:
            raise AlreadyDecidedError(
                f"cannot decide several: {id} is {state} already; nothing was decided", resolution=f"runner show {id}"
            )
    return ids


def listed(client: Client, snapshot: str) -> list[Named]:
    """The calls that waited on the list of this token; none that came after it.

    Raises:
        NotFoundError: No such list was shown lately.
    """
    found = client.record("batch", need_ref(snapshot))
    return [Named(text_at(row, "id"), text_at(row, "digest")) for row in objects_at(found, "calls")]


def decide_all(
    client: Client, verb: str, *, calls: Sequence[Named], snapshot: str | None, reason: str | None
) -> list[JsonObject]:
    """Have all of these decided, or all that waited on a list, or none; each as it then is."""
    body: JsonObject = {"reason": reason}
    if snapshot is not None:
        body["snapshot"] = snapshot
    else:
        body["calls"] = [_call(client, call) for call in calls]
    return objects_at(as_object(client.post("batch", verb, body=body)), "approvals")


def _call(client: Client, call: Named) -> Json:
    found: JsonObject = {"id": reach(client, call.ref, "approval").id}
    return found if call.digest is None else found | {"digest": call.digest}
