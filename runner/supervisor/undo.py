"""Taking a file effect back from its stored pre-image (`runner undo`; issue 5 item 3).

An undo is an approval like any other: a person proposes it and says yes to it in one transaction, then it is carried out,
recorded, looked up on the disk after a crash and shown in the live snapshot by the same code as everything else. So it can be
taken back too. It belongs to the run whose effect it takes back, whether that run goes on or ended long ago; its agent is not
told.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from runner import approvals
from runner.approvals import Approver, Refusal, Request
from runner.broker import ABSENT, UNDO, Impossible, Order, Plan, PreImage, image_of, plan_undo
from runner.digest import digest_json
from runner.errors import AlreadyDecidedError, ApprovalExpiredError, NotAllowedError, RunnerError, StoreError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, JsonObject, ResolvedPath, Verdict
from runner.store import ApprovalRow, CallRow, Connection, Store, audit, calls, pausing, profiles
from runner.store import approvals as rows
from runner.supervisor import keepsakes, queries
from runner.supervisor.acts import runs_in_container, undoes
from runner.supervisor.effects import Effects
from runner.supervisor.ids import Ids
from runner.supervisor.parsing import parsed
from runner.supervisor.progress import Clock
from runner.supervisor.views import paths_view

#: Seconds for which an undo that was interrupted before it began may still be carried out.
GOOD_FOR = 3600.0
#: What an undo is, for its call digest: a tool of ours that nobody is offered.
_DEFINITION = digest_json("runner.undo.v1", {"takes back": "one effect", "arguments": ["undoes", "path"]})
_RULE = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An effect that was carried out, what stood there before, and the last time it was taken back."""

    row: ApprovalRow
    image: PreImage
    cwd: Path
    before: ApprovalRow | None

    @property
    def order(self) -> Order:
        """The order that takes it back: from what it left behind to what stood there before."""
        ((path, _),) = self.row.pre_images.items()
        return Order(
            tool=UNDO,
            raw=json.dumps({"undoes": self.row.id, "path": path}),
            paths=(ResolvedPath(asked=path, resolved=PurePosixPath(path)),),
            cwd=self.cwd,
            pre_images={path: None if self.row.post_image == ABSENT else self.row.post_image},
            post_image=image_of(self.image.data) or ABSENT,
            restores=self.image,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Undos:
    """Implements `runner.api.service.Undos`."""

    store: Store
    effects: Effects
    clock: Clock
    ids: Ids

    async def plan(self, ref: str) -> JsonObject:
        """What taking an effect back would change, without doing it.

        Raises:
            RunnerError: As `undo`.
        """
        wanted, found = await self._plan(ref)
        return {
            "undoes": wanted.row.id,
            "tool": wanted.row.tool,
            "run": wanted.row.run,
            "agent": wanted.row.agent,
            "paths": paths_view(wanted.order.paths),
            "summary": found.summary,
            "preview": found.preview,
            "warnings": [*found.warnings],
        }

    async def undo(self, ref: str, *, who: Approver) -> JsonObject:
        """Take an effect back; the answer is the undo's own approval as it then is.

        Raises:
            NotFoundError: No such approval.
            UsageError: It changed no file, or was not done.
            AlreadyDecidedError: It was taken back before.
            ApprovalExpiredError: What stands there is no longer what it left behind; nothing was done.
            PausedError: The supervisor is paused.
            NotAllowedError: It took more than one approver.
        """
        wanted, found = await self._plan(ref)
        fresh = self.ids.approval()
        await self.effects.carry_out(fresh, opening=partial(self._open, wanted=wanted, plan=found, fresh=fresh, who=who))
        return await self.store.query(queries.whole_approval, fresh)

    async def _plan(self, ref: str) -> tuple[Wanted, Plan]:
        wanted = await self.store.query(look_up, ref)
        found = await asyncio.to_thread(plan_undo, wanted.order)
        if isinstance(found, Impossible):
            raise _drifted(wanted, found)
        return wanted, found

    def _open(self, conn: Connection, *, wanted: Wanted, plan: Plan, fresh: ApprovalId, who: Approver) -> ApprovalRow:
        """The undo's call and approval, and a word about it in the history of what it takes back."""
        pausing.refuse(conn, f"undo {wanted.row.id}")
        if wanted.row.required > 1:
            raise NotAllowedError(
                f"cannot undo {wanted.row.id}: it took {wanted.row.required} approvers, and an undo is one person's",
                resolution="have the agent propose the change back, and approve that",
            )
        now, order, row = self.clock(), wanted.order, wanted.row
        reason = f"A person takes back {row.tool} {row.id}."
        call = CallRow(
            id=self.ids.call(),
            run=row.run,
            segment=row.segment,
            attempt=row.attempt,
            turn=0,  # no turn of the model's: a resumed run tells nothing of it
            tool=UNDO,
            raw=order.raw,
            call_digest=None,
            verdict=Verdict.ASK,
            rank=0,
            rule=_RULE,
            reason=reason,
            wire_id="",
            created=now,
            paths=order.paths,
        )
        request = Request(
            call=calls.append(conn, call).id,
            run=row.run,
            segment=row.segment,
            attempt=row.attempt,
            turn=0,
            agent=row.agent,
            profile_digest=row.profile_digest,
            tool=UNDO,
            definition_digest=_DEFINITION,
            raw=order.raw,
            why=_RULE,
            reason=reason,
            sender=row.sender,
            expires_at=now + GOOD_FOR,
            paths=order.paths,
            pre_images=order.pre_images,
            post_image=order.post_image,
            preview=plan.preview,
            warnings=plan.warnings,
            standing=who,
        )
        (opened,) = approvals.open_turn(conn, [request], now=now, ids=lambda: fresh, nonces=self.ids.nonce)
        if isinstance(opened, Refusal):
            raise UsageError(f"cannot undo {row.id}: {opened.reason}")
        audit.append(conn, time=now, event="approval.undo", subject=row.id, data={"undo": fresh, "by": who.facts()})
        return opened


def look_up(conn: Connection, ref: str) -> Wanted:
    """What is on record of an effect that is to be taken back.

    Raises:
        NotFoundError: No such approval.
        UsageError: It changed no file, or was not done.
        StoreError: What was kept is not what the approval was bound to.
    """
    row = approvals.find(conn, ref).effective
    if row.state is not ApprovalState.DONE:
        raise _not_done(row)
    image = keepsakes.kept(conn, row.id)
    if image is None or row.post_image is None or len(row.pre_images) != 1:
        why = "it changed no file" if runs_in_container(row.tool) else "what stood there before is not on record"
        raise UsageError(f"cannot undo {row.id}: {why}", resolution=f"runner show {row.id}")
    if [*row.pre_images.values()] != [image_of(image.data)]:
        raise StoreError(
            f"cannot undo {row.id}: what is kept of it is not what stood there before", resolution="restore a backup"
        )
    earlier = [one for one in rows.list(conn, run=row.run, states={ApprovalState.DONE}) if one.tool == UNDO]
    cwd = parsed(profiles.get(conn, row.profile_digest)).cwd
    return Wanted(row=row, image=image, cwd=cwd, before=next((one for one in earlier[::-1] if undoes(one) == row.id), None))


def _not_done(row: ApprovalRow) -> UsageError:
    hint = f"runner show {row.id}"
    if row.state is ApprovalState.UNKNOWN:
        hint = f"look what became of it, then runner settle {row.id} happened|not-happened"
    return UsageError(
        f"cannot undo {row.id}: it is {row.state.value}, and only what was done can be taken back", resolution=hint
    )


def _drifted(wanted: Wanted, found: Impossible) -> RunnerError:
    """The target is not as the effect left it: somebody changed it since, or it was taken back already."""
    row, before = wanted.row, wanted.before
    if before is not None:
        return AlreadyDecidedError(
            f"cannot undo {row.id}: it was taken back already, by {before.id}",
            details=found.reason,
            resolution=f"runner undo {before.id} does it again",
        )
    return ApprovalExpiredError(
        f"cannot undo {row.id}: {found.reason}",
        details="what stands there now is not what it left behind; nothing was changed",
        resolution=f"runner show {row.id}; what was done since has to be taken back first",
    )
