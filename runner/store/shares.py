"""Files that the owner hands to contacts: rows that move only along `lifecycle.SHARE`, bytes that go with the last of them.

What is in a share never changes. Its first fetch is on record before a byte of it leaves (R28).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection, RowMapping, and_, delete, exists, func, select, update

from runner.errors import NotFoundError
from runner.lifecycle import SHARE, SHARE_ENDS, ShareEvent, ShareState, sources
from runner.model import Digest, Json, Sender, ShareId
from runner.store import audit, codec, ids
from runner.store.pieces import pieces
from runner.store.rows import Approver
from runner.store.schema_shares import share_files, share_parts, shares

_T, _F, _P = shares.c, share_files.c, share_parts.c
#: States in which a contact can fetch it.
LIVE = frozenset(ShareState) - SHARE_ENDS
#: Characters of all names together that the audit tells.
_NAMES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One file of a share. `fetches` counts the times that its contact began to fetch it."""

    n: int
    name: str
    kind: str
    size: int
    digest: Digest
    fetches: int = 0
    fetched: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """What was handed to whom. `warnings` are what was found in it and shared all the same."""

    id: ShareId
    to: Sender
    note: str
    digest: Digest
    shared_by: Approver
    created: float
    expires: float
    files: tuple[FileRow, ...]
    warnings: tuple[str, ...] = ()
    state: ShareState = ShareState.OFFERED
    ended: float | None = None
    version: int = 1


def insert(conn: Connection, row: ShareRow, contents: Sequence[bytes]) -> ShareRow:
    """Store a share with its files' bytes, in their order."""
    plain = ("id", "note", "digest", "created", "expires", "ended", "version")
    columns: dict[str, object] = {name: getattr(row, name) for name in plain} | {**codec.sender_columns(row.to)}
    columns |= {"warnings": codec.dump([*row.warnings]), "shared_by": codec.dump(row.shared_by.facts())}
    conn.execute(shares.insert().values(**columns, state=row.state.value))
    for file, data in zip(row.files, contents, strict=True):
        names = ("n", "name", "kind", "size", "digest", "fetches", "fetched")
        conn.execute(share_files.insert().values(share=row.id, **{name: getattr(file, name) for name in names}))
        _keep(conn, file.digest, data)
    said: dict[str, Json] = {
        "contact": _contact(row.to),
        "files": len(row.files),
        "bytes": sum(file.size for file in row.files),
        "names": ", ".join(file.name for file in row.files)[:_NAMES],
        "warnings": len(row.warnings),
        "digest": row.digest,
    }
    said |= codec.by(row.shared_by)
    audit.append(conn, time=row.created, event="share.offer", subject=row.id, data=said)
    return row


def find(conn: Connection, text: str) -> ShareRow:
    """A share by id or unique beginning.

    Raises:
        NotFoundError: None or several.
    """
    return get(conn, ids.whole(conn, _T.id, text, kind="s", noun="share"))


def get(conn: Connection, share: str) -> ShareRow:
    """A share by its whole id.

    Raises:
        NotFoundError: There is none.
    """
    found = conn.execute(select(shares).where(_T.id == share)).mappings().one_or_none()
    if found is None:
        raise NotFoundError(f"cannot find share {share}: there is none", resolution="runner shares lists them")
    return _whole(conn, found)


def list(
    conn: Connection, *, states: Collection[ShareState] | None = None, fingerprint: str | None = None, limit: int | None = None
) -> tuple[ShareRow, ...]:
    """Shares, newest first, of one contact's key or of all; None means any state."""
    query = select(shares).order_by(_T.created.desc(), _T.id.desc()).limit(limit)
    if states is not None:
        query = query.where(_T.state.in_(sorted(state.value for state in states)))
    if fingerprint is not None:
        query = query.where(_T.sender_fingerprint == fingerprint)
    found = conn.execute(query).mappings().all()
    belonging = select(share_files).where(_F.share.in_([row["id"] for row in found])).order_by(_F.share, _F.n)
    by_share = groupby(conn.execute(belonging).mappings(), key=itemgetter("share"))
    files = {share: tuple(group) for share, group in by_share}
    return tuple(codec.read(lambda one: _row(one, files.get(one["id"], ())), row) for row in found)


def living(conn: Connection) -> int:
    """How many a contact could fetch now."""
    query = select(func.count()).select_from(shares).where(_T.state.in_(sorted(state.value for state in LIVE)))
    return conn.execute(query).scalar_one()


def due(conn: Connection, now: float) -> tuple[ShareId, ...]:
    """Those whose time is up."""
    query = select(_T.id).where(_T.state.in_(sorted(state.value for state in LIVE)), _T.expires <= now)
    return tuple(ShareId(found) for found in conn.execute(query).scalars())


def end(  # noqa: PLR0913 - one decision, whole
    conn: Connection, share: str, event: ShareEvent, *, now: float, by: Approver | None = None, reason: str | None = None
) -> ShareRow | None:
    """Let `event` end a share and drop what only it held; None, and nothing changed, when its state does not allow it.

    Raises:
        NotFoundError: There is none.
    """
    row = get(conn, share)
    if not _move(conn, row, event, now=now):
        return None
    _drop(conn, row)
    said: dict[str, Json] = {"contact": _contact(row.to), "reason": reason, "from": row.state.value}
    said |= {"to": sources(SHARE, event)[row.state].value} | codec.by(by)
    audit.append(conn, time=now, event=f"share.{event.value}", subject=row.id, data=said)
    return get(conn, share)


def fetch(conn: Connection, row: ShareRow, n: int, *, now: float) -> None:
    """Note that a contact fetches a file; the first time is on record."""
    file = next(one for one in row.files if one.n == n)
    where = (_F.share == row.id, _F.n == n)
    conn.execute(update(share_files).where(*where).values(fetches=_F.fetches + 1, fetched=file.fetched or now))
    if row.state is ShareState.OFFERED:
        _move(conn, row, ShareEvent.FETCH, now=None)
    if not file.fetches:
        said: dict[str, Json] = {"contact": _contact(row.to), "file": n, "name": file.name, "bytes": file.size}
        said["digest"] = file.digest
        said |= codec.sender_columns(row.to)
        audit.append(conn, time=now, event="share.fetch", subject=row.id, data=said)


def part(conn: Connection, digest: Digest, n: int) -> bytes | None:
    """A piece of a file's bytes; None where there is none."""
    return conn.execute(select(_P.data).where(_P.digest == digest, _P.n == n)).scalar_one_or_none()


def _move(conn: Connection, row: ShareRow, event: ShareEvent, *, now: float | None) -> bool:
    after = sources(SHARE, event).get(row.state)
    if after is None:
        return False
    where = (_T.id == row.id, _T.state == row.state.value, _T.version == row.version)
    values = {"state": after.value, "version": row.version + 1, "ended": now}
    return conn.execute(update(shares).where(*where).values(**values)).rowcount == 1


def _keep(conn: Connection, digest: Digest, data: bytes) -> None:
    """Keep bytes that no other share has here already; a file without any has no piece."""
    if conn.execute(select(_P.n).where(_P.digest == digest).limit(1)).first() is None:
        for n, piece in enumerate(pieces(data)):
            conn.execute(share_parts.insert().values(digest=digest, n=n, data=piece))


def _drop(conn: Connection, row: ShareRow) -> None:
    live = and_(_F.share == _T.id, _F.digest == _P.digest, _T.state.in_(sorted(state.value for state in LIVE)))
    digests = sorted({file.digest for file in row.files})
    conn.execute(delete(share_parts).where(_P.digest.in_(digests), ~exists().where(live)))


def _contact(to: Sender) -> str:
    return f"{to.petname} ⟨{to.fingerprint}⟩"


def _whole(conn: Connection, found: RowMapping) -> ShareRow:
    files = conn.execute(select(share_files).where(_F.share == found["id"]).order_by(_F.n)).mappings().all()
    return codec.read(lambda one: _row(one, files), found)


def _row(found: RowMapping, files: Sequence[RowMapping]) -> ShareRow:
    plain = ("id", "note", "digest", "created", "expires", "ended", "version")
    return ShareRow(
        **{name: found[name] for name in plain},
        to=codec.load_sender(found),
        shared_by=Approver(**json.loads(found["shared_by"])),
        warnings=tuple(json.loads(found["warnings"])),
        state=ShareState(found["state"]),
        files=tuple(FileRow(**{name: one for name, one in file.items() if name != "share"}) for file in files),
    )
