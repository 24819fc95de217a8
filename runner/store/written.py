"""Files that approved effects of tainted runs left in an agent's directory: who reads one takes over its taint (P4, R57).

A file counts as such while its bytes are those that were written; what a person makes of it afterwards is the person's.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, or_, select

from runner.lifecycle import ApprovalState
from runner.model import ApprovalId, Digest, RunId, Sender, SenderKind
from runner.policy.catalogue import TOOLS
from runner.store import codec, schema, taints
from runner.store.rows import ApprovalRow, RunRow
from runner.store.schema_replies import forwards
from runner.store.schema_taint import written

#: Tools that leave parts of what stood there before: a file that was tainted stays so.
_KEEPS_SOME = frozenset({"Edit", "NotebookEdit"})
_BYTES = "sha256:"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """What one effect left. `run` and `sender` are whose taint is in it."""

    approval: ApprovalId
    agent: str
    path: str  #: as the container sees it
    post_image: Digest
    run: RunId
    sender: Sender
    at: float


def note(conn: Connection, row: ApprovalRow, *, now: float) -> None:
    """Note what a done effect of a tainted run left; in the transaction that records the effect.

    An undo is left out: it brings back what stood there before, which has a row of its own where it was tainted.
    """
    if row.tool not in TOOLS or row.post_image is None or not row.post_image.startswith(_BYTES):
        return
    tainted = taints.of_run(conn, row.run) != ()
    for path, before in row.pre_images.items():
        earlier = _left(conn, path, agent=row.agent, digest=before) if row.tool in _KEEPS_SOME else None
        if not tainted and earlier is None:
            continue
        run, sender = (row.run, row.sender) if tainted or earlier is None else (earlier.run, earlier.sender)
        values = {"approval": row.id, "agent": row.agent, "path": path, "post_image": row.post_image, "run": run, "at": now}
        conn.execute(written.insert().values(**values, **codec.sender_columns(sender)))


def beneath(conn: Connection, agent: str, path: str, *, limit: int) -> tuple[WrittenRow, ...]:
    """What effects left at a path, or anywhere beneath it; newest first."""
    table = written.c
    here = or_(table.path == path, table.path.startswith(f"{path}/", autoescape=True))
    query = select(written).where(table.agent == agent, here).order_by(table.at.desc()).limit(limit)
    return tuple(codec.read(_row, found) for found in conn.execute(query).mappings())


def of_others(conn: Connection, run: RunRow) -> tuple[WrittenRow, ...]:
    """What effects of somebody else's runs left in the directory of a run's agent (invariant 10).

    Not the owner's, not its sender's, not its own. What one of these wrote there with the same bytes is theirs too.
    """
    table = written.c
    rows = [codec.read(_row, found) for found in conn.execute(select(written).where(table.agent == run.agent)).mappings()]
    handed = _handed_on(conn, run.agent)
    mine = {(row.path, row.post_image) for row in rows if _is_of(run, row.run, row.sender, handed=handed)}
    return tuple(row for row in rows if (row.path, row.post_image) not in mine)


def folders_of_others(conn: Connection, run: RunRow) -> tuple[str, ...]:
    """Folders that such effects made."""
    table = schema.approvals.c
    done = (table.agent == run.agent, table.tool == "CreateFolder", table.state == ApprovalState.DONE.value)
    query = select(table.run, table.paths, table.sender_kind, table.sender_petname, table.sender_fingerprint).where(*done)
    handed = _handed_on(conn, run.agent)
    return tuple(
        str(path.resolved)
        for row in conn.execute(query).mappings()
        if not _is_of(run, RunId(row["run"]), codec.load_sender(row), handed=handed)
        for path in codec.load_paths(row["paths"])
    )


def _handed_on(conn: Connection, agent: str) -> frozenset[RunId]:
    """Runs of captures that the owner handed on: what they leave has the owner's own words in it, and is not the sender's."""
    table = schema.runs.c
    query = select(table.id).join(forwards, forwards.c.capture == table.capture).where(table.agent == agent)
    return frozenset(RunId(found) for found in conn.execute(query).scalars())


def _is_of(run: RunRow, whose_run: RunId, whose: Sender, *, handed: frozenset[RunId]) -> bool:
    if whose.kind is SenderKind.OWNER or whose_run == run.id:
        return True
    return whose.fingerprint == run.sender.fingerprint and whose_run not in handed


def _left(conn: Connection, path: str, *, agent: str, digest: Digest | None) -> WrittenRow | None:
    """The effect that left these very bytes there."""
    table = written.c
    query = select(written).where(table.agent == agent, table.path == path, table.post_image == (digest or ""))
    found = conn.execute(query.order_by(table.at.desc()).limit(1)).mappings().one_or_none()
    return None if found is None else codec.read(_row, found)


def _row(found: RowMapping) -> WrittenRow:
    return WrittenRow(
        approval=ApprovalId(found["approval"]),
        agent=found["agent"],
        path=found["path"],
        post_image=Digest(found["post_image"]),
        run=RunId(found["run"]),
        sender=codec.load_sender(found),
        at=found["at"],
    )
