"""What was shown to whom, and who was refused, as rows of the audit (A2, W3). Bounded: looking must not fill the disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from runner import approvals
from runner.approvals import Approver
from runner.errors import RunnerError
from runner.model import Json, JsonObject
from runner.store import Connection, Store, audit, replies
from runner.supervisor.progress import Clock

#: Rows within a minute: showings of all, and refusals.
SHOWN, REFUSED = 120, 60


class Witness:
    """Implements `runner.api.witness_service.Witness`.

    Args:
        store: Where the rows go.
        clock: Epoch seconds.
        who: What `approvers` answers.
    """

    def __init__(self, *, store: Store, clock: Clock, who: JsonObject) -> None:
        self._store = store
        self._clock = clock
        self._who = who
        self._lately: Mapping[int, deque[float]] = {SHOWN: deque(), REFUSED: deque()}

    async def shown(self, ref: str, card: JsonObject, *, who: Approver) -> JsonObject:
        """Put on record that a person was shown this card; of very many, not each is."""
        row = await self._store.query(approvals.find, ref)
        return await self._shown("approval.shown", row.id, row.effective.approval_digest, card=card, who=who)

    async def reply_shown(self, ref: str, card: JsonObject, *, who: Approver) -> JsonObject:
        """The same for a reply that was shown whole."""
        row = await self._store.query(replies.find, ref)
        return await self._shown("reply.shown", row.id, row.digest, card=card, who=who)

    async def refused(self, event: str, *, act: str, ref: str, why: str, who: Approver) -> None:
        """Put on record that a request was refused; the refusal holds whether or not there is room for it."""
        if self._room(REFUSED):
            facts: JsonObject = {"act": act, "why": why}
            await self._store.call(self._append, event, subject=await self._subject(ref), facts=facts, who=who)

    async def approvers(self) -> JsonObject:
        """Who may decide, as this supervisor was started."""
        return self._who

    async def _subject(self, ref: str) -> str:
        """The whole id, where it names an approval: the refusal belongs to its history."""
        try:
            return (await self._store.query(approvals.find, ref)).id
        except RunnerError:
            return "supervisor"

    async def _shown(self, event: str, subject: str, digest: str, *, card: JsonObject, who: Approver) -> JsonObject:
        if not self._room(SHOWN):
            return {"recorded": False}
        facts: JsonObject = {**card, "fits": card.get("digest") == digest}
        await self._store.call(self._append, event, subject=subject, facts=facts, who=who)
        return {"recorded": True}

    def _room(self, most: int) -> bool:
        now, lately = self._clock(), self._lately[most]
        while lately and not now - 60 < lately[0] <= now:
            lately.popleft()
        if len(lately) >= most:
            return False
        lately.append(now)
        return True

    def _append(self, conn: Connection, event: str, *, subject: str, facts: Mapping[str, Json], who: Approver) -> None:
        audit.append(conn, time=self._clock(), event=event, subject=subject, data={**facts, "by": who.facts()})
