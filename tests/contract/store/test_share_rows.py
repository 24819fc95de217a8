"""Shares on both databases: bytes once, gone with the last share that needs them, and no move but those of the table."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import SQLAlchemyError

from runner.digest import digest_bytes
from runner.errors import NotFoundError
from runner.lifecycle import SHARE, ShareEvent, ShareState, moves
from runner.model import Digest, Sender, SenderKind, ShareId
from runner.store import Store, audit, shares
from runner.store.pieces import PIECE, lengths, pieces
from runner.store.shares import LIVE, FileRow, ShareRow
from tests.helpers.stored import ANNA, NOW, fresh

MARIA = Sender(kind=SenderKind.CONTACT, petname="maria", fingerprint="abcd-efgh-2345-6723")
BIG = b"x" * PIECE + b"end"


def a_share(store: Store, *contents: bytes, **changes: Any) -> ShareRow:
    files = tuple(
        FileRow(n=n, name=f"{n}", kind="text", size=len(data), digest=digest_bytes(data)) for n, data in enumerate(contents, 1)
    )
    row = ShareRow(
        id=ShareId(fresh("s")),
        to=MARIA,
        note="",
        digest=Digest("sha256:0"),
        shared_by=ANNA,
        created=NOW,
        expires=NOW + 1,
        files=files,
        **changes,
    )
    with store.begin() as conn:
        return shares.insert(conn, row, contents)


def test_a_share_reads_back_as_it_was_stored_and_its_bytes_piece_by_piece(store: Store) -> None:
    row = a_share(store, BIG, b"", warnings=("1: a secret",))
    with store.reading() as conn:
        assert shares.find(conn, row.id[:9]) == row
        assert shares.list(conn, states=LIVE, fingerprint="abcd-efgh-2345-6723") == (row,)
        assert shares.list(conn, fingerprint="another") == ()
        digest = row.files[0].digest
        assert [shares.part(conn, digest, n) for n in range(3)] == [b"x" * PIECE, b"end", None]
        assert shares.part(conn, row.files[1].digest, 0) is None
        assert (shares.living(conn), shares.due(conn, NOW), shares.due(conn, NOW + 1)) == (1, (), (row.id,))
        with pytest.raises(NotFoundError):
            shares.get(conn, "s_none")


def test_bytes_are_kept_once_and_go_with_the_last_share_that_needs_them(store: Store) -> None:
    first, second = a_share(store, BIG, b"of the first"), a_share(store, BIG, BIG)
    with store.begin() as conn:
        assert shares.end(conn, first.id, ShareEvent.WITHDRAW, now=NOW, by=ANNA, reason="why") is not None
        assert shares.end(conn, first.id, ShareEvent.EXPIRE, now=NOW) is None
        assert shares.part(conn, first.files[1].digest, 0) is None
        assert shares.part(conn, first.files[0].digest, 1) == b"end"
        ended = shares.end(conn, second.id, ShareEvent.EXPIRE, now=NOW + 5)
        assert ended is not None
        assert (ended.state, ended.ended) == (ShareState.EXPIRED, NOW + 5)
        assert shares.part(conn, first.files[0].digest, 1) is None
        assert [row.event for row in audit.of_subject(conn, first.id)] == ["share.offer", "share.withdraw"]


def test_only_the_first_fetch_of_a_file_is_on_record_and_every_one_is_counted(store: Store) -> None:
    row = a_share(store, b"a", b"b")
    with store.begin() as conn:
        for n, later in ((1, 1), (1, 2), (2, 3)):
            shares.fetch(conn, shares.get(conn, row.id), n, now=NOW + later)
        found = shares.get(conn, row.id)
        assert [(one.fetches, one.fetched) for one in found.files] == [(2, NOW + 1), (1, NOW + 3)]
        assert (found.state, found.version) == (ShareState.FETCHED, 2)
        assert [row.event for row in audit.of_subject(conn, row.id)] == ["share.offer", "share.fetch", "share.fetch"]


def test_exactly_the_moves_of_the_table_are_possible_for_a_share(store: Store) -> None:
    """Invariant 9, also for whoever writes SQL past our functions."""
    ways: dict[ShareState, tuple[ShareEvent, ...]] = {
        ShareState.OFFERED: (),
        ShareState.FETCHED: (ShareEvent.FETCH,),
        ShareState.WITHDRAWN: (ShareEvent.WITHDRAW,),
        ShareState.EXPIRED: (ShareEvent.EXPIRE,),
    }
    possible = set()
    for before, events in ways.items():
        row = a_share(store, b"x")
        with store.begin() as conn:
            for event in events:
                if event is ShareEvent.FETCH:
                    shares.fetch(conn, row, 1, now=NOW)
                else:
                    shares.end(conn, row.id, event, now=NOW)
            assert shares.get(conn, row.id).state is before
        for after in ShareState:
            if after is not before and _can(store, row.id, after):
                possible.add((before, after))
    assert possible == moves(SHARE)


def _can(store: Store, share: str, after: ShareState) -> bool:
    """Try one change with raw SQL; it is undone afterwards."""
    with store.engine.connect() as conn:
        try:
            conn.exec_driver_sql(f"UPDATE shares SET state = '{after.value}' WHERE id = '{share}'")
        except SQLAlchemyError:
            return False
        finally:
            conn.rollback()
    return True


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_pieces_are_as_long_as_they_are_asked_for(size: int) -> None:
    found = [len(piece) for piece in pieces(b"x" * size)]
    assert (found or [0]) == lengths(size)
