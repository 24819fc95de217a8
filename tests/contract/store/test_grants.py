"""Rows of grants: a use is taken once and never too many, an end is at once and for good (D3)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import text

from runner.errors import NotFoundError, StoreError
from runner.model import Digest, GrantId
from runner.policy import Grant
from runner.store import Approver, Store, audit, choices, grants
from runner.store.grants import GrantRow
from tests.helpers.stored import ANNA, BEN, NOW, PROFILE, an_approval, fresh

HOUR = 3600.0


def a_grant(**changes: object) -> GrantRow:
    grant = Grant(
        id=GrantId(fresh("g")), tool="Write", profile_digest=PROFILE, prefix=("out", "a"), matches=(("file_path", "out/*"),)
    )
    row = GrantRow(agent="scribe", grant=grant, created=NOW, expires=NOW + HOUR, uses=2, granted_by=ANNA)
    return replace(row, **changes)  # type: ignore[arg-type]


def test_a_grant_reads_back_as_it_was_given_and_is_on_record(store: Store) -> None:
    row = a_grant()
    with store.begin() as conn:
        assert grants.insert(conn, row) == row
        assert grants.get(conn, row.id) == grants.find(conn, row.id[:9]) == row
        assert grants.list(conn, agent="scribe") == grants.of_agent(conn, "scribe") == (row,)
        assert grants.list(conn, agent="other") == ()
        (event,) = audit.of_subject(conn, row.id)
        assert (event.event, '"match":{"file_path":"out/*"}' in event.data, '"anna"' in event.data) == (
            "grant.give",
            True,
            True,
        )
        with pytest.raises(NotFoundError):
            grants.get(conn, GrantId("g_0"))


def test_uses_are_taken_until_none_is_left(store: Store) -> None:
    """D3."""
    row = a_grant()
    with store.begin() as conn:
        grants.insert(conn, row)
        assert [one.used for one in (grants.take(conn, row.id, run="r_1", now=NOW) for _ in range(2)) if one] == [1, 2]
        assert grants.take(conn, row.id, run="r_1", now=NOW) is None
        assert (grants.get(conn, row.id).state(NOW), grants.live(conn, "scribe", now=NOW)) == ("used up", 0)
        assert [one.event for one in audit.of_subject(conn, row.id)] == ["grant.give", "grant.use", "grant.use"]


def test_twenty_takers_of_one_use_have_one_winner(store: Store) -> None:
    row = a_grant(uses=1)
    with store.begin() as conn:
        grants.insert(conn, row)

    def take(_: int) -> bool:
        with store.begin() as conn:
            return grants.take(conn, row.id, run="r_1", now=NOW) is not None

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(take, range(20))) == [False] * 19 + [True]


@pytest.mark.parametrize("end", ["revoke", "time"])
def test_a_grant_that_ended_gives_no_use_and_stands_behind_no_yes(end: str, store: Store) -> None:
    row = a_grant()
    with store.begin() as conn:
        grants.insert(conn, row)
        approval = replace(an_approval(conn), decided_by=grants.yes(row))
        assert grants.grant_of(approval) == row.id
        assert not grants.withdrawn(conn, approval, now=NOW)
        later = NOW + HOUR if end == "time" else NOW
        if end == "revoke":
            ended = grants.revoke(conn, row.id, who=BEN, now=NOW)
            assert (ended.state(NOW), ended.revoked_by) == ("revoked", BEN) if ended else False
            assert grants.revoke(conn, row.id, who=BEN, now=NOW) is None
            assert choices.of_agent(conn, "scribe").grants == ()
        assert grants.take(conn, row.id, run="r_1", now=later) is None
        assert grants.withdrawn(conn, approval, now=later)
        assert grants.get(conn, row.id).state(later) == ("expired" if end == "time" else "revoked")


def test_a_person_and_the_owners_policy_are_no_grant(store: Store) -> None:
    with store.begin() as conn:
        approval = an_approval(conn)
        for who in (None, ANNA, Approver(uid=0, channel="policy", name="g_0123456789abcdef")):
            assert grants.grant_of(replace(approval, decided_by=who)) is None
            assert not grants.withdrawn(conn, replace(approval, decided_by=who), now=NOW + 1e9)
        forged = replace(approval, decided_by=Approver(uid=0, channel=grants.CHANNEL, name="g_0123456789abcdef"))
        assert grants.withdrawn(conn, forged, now=NOW)


def test_a_used_up_grant_counts_for_what_it_let_in_and_for_nothing_new(store: Store) -> None:
    row, other = a_grant(uses=1), a_grant()
    with store.begin() as conn:
        grants.insert(conn, row)
        grants.insert(conn, other)
        grants.take(conn, row.id, run="r_1", now=NOW)
        chosen = choices.of_agent(conn, "scribe")
        assert chosen.granted() == (other.grant,)
        assert chosen.granted(row.id) == (row.grant,)
        assert chosen.granted(GrantId("g_0")) == ()


def test_what_is_past_its_time_is_put_to_an_end_when_the_next_is_given(store: Store) -> None:
    """What a decision looks at stays small."""
    with store.begin() as conn:
        for _ in range(3):
            grants.insert(conn, a_grant())
        grants.insert(conn, a_grant(created=NOW + HOUR, expires=NOW + 2 * HOUR))
        assert (len(grants.of_agent(conn, "scribe")), len(grants.list(conn))) == (1, 4)


@pytest.mark.parametrize(
    "change",
    ["uses = 100", "expires = expires + 1", "used = used - 1", "used = 3", "tool = 'Edit'", "prefix = NULL", "matches = '[]'"],
)
def test_no_raw_sql_makes_a_grant_wider(change: str, store: Store) -> None:
    row = a_grant()
    with store.begin() as conn:
        grants.insert(conn, row)
        grants.take(conn, row.id, run="r_1", now=NOW)
    for sql in (f"UPDATE grants SET {change}", "DELETE FROM grants"):
        with pytest.raises(StoreError), store.begin() as conn:
            conn.execute(text(sql))


def test_no_raw_sql_brings_a_grant_back(store: Store) -> None:
    row = a_grant(grant=replace(a_grant().grant, prefix=None, matches=(), profile_digest=Digest("sha256:x")))
    with store.begin() as conn:
        grants.insert(conn, row)
        grants.revoke(conn, row.id, who=ANNA, now=NOW)
        assert grants.get(conn, row.id).grant == row.grant
    with pytest.raises(StoreError), store.begin() as conn:
        conn.execute(text("UPDATE grants SET ended = NULL, revoked_by = NULL"))
