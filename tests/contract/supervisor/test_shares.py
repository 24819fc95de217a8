"""Files that the owner hands to a contact, over a real database and a real door: shown, kept, fetched, ended (R26-R31)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.captures.ed25519 import SecretKey
from runner.errors import (
    AlreadyDecidedError,
    DigestMismatchError,
    NotAllowedError,
    NotFoundError,
    PausedError,
    RunnerError,
    StoreError,
    UsageError,
)
from runner.lifecycle import ShareState
from runner.store import audit, pausing, shares
from runner.store.pieces import PIECE
from tests.helpers.door import Door, a_door, reason
from tests.helpers.stored import ANNA, a_run

TEXT = b"The figures are in the second column.\n"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with a_door(tmp_path) as door:
        yield door


@pytest.fixture
def maria(door: Door) -> SecretKey:
    return door.meet()


def planned(door: Door, *files: tuple[str, bytes], to: str = "maria", note: str = "", seconds: float | None = None) -> Any:
    return asyncio.run(door.shares.plan(to, files or (("report.txt", TEXT),), note=note, seconds=seconds))


def shared(door: Door, *files: tuple[str, bytes], **more: Any) -> Any:
    return asyncio.run(door.shares.share(planned(door, *files, **more)["digest"], who=ANNA))


def withdrawn(door: Door, ref: str) -> Any:
    return asyncio.run(door.shares.withdraw(ref, reason="a mistake", who=ANNA))


def fetched(door: Door, key: SecretKey, ref: str, n: int = 1, part: int = 0) -> tuple[int, bytes | str]:
    """Status, and the bytes or the reason."""
    answer = door.get(key, f"/v1/shares/{ref}/{n}/{part}")
    return answer.status_code, answer.content if answer.status_code == 200 else reason(answer)


def kept(door: Door) -> int:
    """Pieces of bytes in the database."""
    with door.store.reading() as conn:
        return int(conn.exec_driver_sql("SELECT count(*) FROM share_parts").scalar_one())


def events(door: Door) -> list[str]:
    with door.store.reading() as conn:
        return [row.event for row in audit.after(conn, 0, 1000) if row.event.startswith("share.")]


def pause(door: Door, *, on: bool = True) -> None:
    with door.store.begin() as conn:
        if on:
            pausing.pause(conn, who=ANNA, reason=None, now=door.now)
        else:
            pausing.resume(conn, who=ANNA, now=door.now)


def test_exactly_what_was_shown_can_be_fetched_by_exactly_its_contact(door: Door, maria: SecretKey) -> None:
    """R26, R28: names, sizes and digests are shown first; a yes is to their digest; the first fetch is on record."""
    other = door.meet("ben")
    big = bytes(range(256)) * (PIECE // 128)
    draft = planned(door, ("report.txt", TEXT), ("raw", big), ("nothing", b""), note="as promised", seconds=3600)
    assert [(one["name"], one["size"], one["digest"]) for one in draft["files"]] == [
        (name, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        for name, data in (("report.txt", TEXT), ("raw", big), ("nothing", b""))
    ]
    assert (kept(door), events(door), door.get(maria, "/v1/shares").json()) == (0, [], {"shares": []})
    share = asyncio.run(door.shares.share(draft["digest"], who=ANNA))
    (offer,) = door.get(maria, "/v1/shares").json()["shares"]
    assert offer == door.get(maria, f"/v1/shares/{share['id']}").json()
    assert (offer["note"], offer["expires"], len(offer["files"])) == ("as promised", door.now + 3600, 3)
    assert [fetched(door, maria, share["id"], 2, part)[1] for part in range(2)] == [big[:PIECE], big[PIECE:]]
    assert fetched(door, maria, share["id"]) == fetched(door, maria, share["id"]) == (200, TEXT)
    assert fetched(door, maria, share["id"], 3) == (200, b"")
    assert door.get(other, "/v1/shares").json() == {"shares": []}
    assert [fetched(door, maria, share["id"], n, part) for n, part in ((4, 0), (1, 1), (2, 2), (0, 0))] == [
        (404, "no_share")
    ] * 4
    assert events(door) == ["share.offer", *["share.fetch"] * 3]
    told = asyncio.run(door.shares.shown(share["id"]))
    assert [(one["fetches"], one["fetched"]) for one in told["files"]] == [(2, door.now), (1, door.now), (1, door.now)]
    assert told["state"] == "fetched"


def test_a_yes_to_another_digest_or_to_what_was_shown_long_ago_shares_nothing(door: Door, maria: SecretKey) -> None:
    draft = planned(door)
    with pytest.raises(DigestMismatchError):
        asyncio.run(door.shares.share("sha256:" + "0" * 64, who=ANNA))
    door.now += 901
    with pytest.raises(DigestMismatchError):
        asyncio.run(door.shares.share(draft["digest"], who=ANNA))
    draft = planned(door)
    asyncio.run(door.shares.share(draft["digest"], who=ANNA))
    with pytest.raises(DigestMismatchError, match="lately"):
        asyncio.run(door.shares.share(draft["digest"], who=ANNA))
    assert events(door) == ["share.offer"]


def test_the_digest_binds_everything_that_is_shown(door: Door, maria: SecretKey) -> None:
    door.meet("ben")
    changes: tuple[dict[str, Any], ...] = ({"note": "other"}, {"seconds": 60}, {"to": "ben"})
    files = (("report.txt", TEXT + b"!"), ("other.txt", TEXT))
    digests = [planned(door)["digest"], planned(door)["digest"], *(planned(door, **change)["digest"] for change in changes)]
    digests += [planned(door, file)["digest"] for file in files]
    assert digests[0] == digests[1]
    assert len(set(digests)) == len(digests) - 1


def test_another_contact_and_a_stranger_never_learn_that_there_is_one(door: Door, maria: SecretKey) -> None:
    """Whoever it is not for is told what they would be told if it were not there."""
    other = door.meet("ben")
    share = shared(door)["id"]
    for path in (f"/v1/shares/{share}", f"/v1/shares/{share}/1/0"):
        absent = path.replace(share, "s_0123456789abcdef")
        assert door.get(other, path).json() == door.get(other, absent).json()
        assert reason(door.get(other, path)) == "no_share"
        unsigned = [door.request("GET", one, {}) for one in (path, absent, "/v1/shares", "/v1/nowhere")]
        assert {(answer.status_code, answer.content) for answer in unsigned} == {(404, unsigned[0].content)}
    assert events(door) == ["share.offer"]


def test_a_fetch_that_is_seen_again_gives_nothing(door: Door, maria: SecretKey) -> None:
    path = f"/v1/shares/{shared(door)['id']}/1/0"
    head = door.sign("GET", path, {}, key=maria)
    assert door.request("GET", path, head).content == TEXT
    assert reason(door.request("GET", path, head)) == "replayed"
    assert reason(door.request("GET", path.replace("/1/0", "/2/0"), door.sign("GET", path, {}, key=maria))) == "refused"


def test_blocked_and_removed_contacts_get_nothing_from_the_next_piece_on(door: Door, maria: SecretKey) -> None:
    """A block holds while it lasts; whoever is removed and comes back with the same key finds nothing."""
    big = b"x" * (PIECE + 1)
    share = shared(door, ("raw", big))["id"]
    assert fetched(door, maria, share)[0] == 200
    asyncio.run(door.contacts.block("maria", blocked=True, who=ANNA))
    assert fetched(door, maria, share, 1, 1) == (404, "refused")
    with pytest.raises(NotAllowedError, match="blocked"):
        shared(door)
    asyncio.run(door.contacts.block("maria", blocked=False, who=ANNA))
    assert fetched(door, maria, share, 1, 1) == (200, b"x")
    removed = asyncio.run(door.contacts.remove("maria", who=ANNA))
    assert (removed["withdrawn"], kept(door)) == ([share], 0)
    asyncio.run(door.contacts.add("maria", maria.public, kind="person", verified=True, who=ANNA))
    assert fetched(door, maria, share) == (410, "gone")
    assert events(door) == ["share.offer", "share.fetch", "share.withdraw"]


def test_nothing_is_handed_to_a_key_that_nobody_verified(door: Door, maria: SecretKey) -> None:
    """Fail closed: an unverified key may be anybody's."""
    share = shared(door)["id"]
    asyncio.run(door.contacts.verify("maria", verified=False, who=ANNA))
    assert fetched(door, maria, share) == (404, "no_share")
    assert door.get(maria, "/v1/shares").json() == {"shares": []}, "nor is it told what there is"
    with pytest.raises(NotAllowedError, match="verified"):
        planned(door)


def test_a_name_that_has_another_key_by_now_gets_nothing_of_what_was_shown_for_it(door: Door, maria: SecretKey) -> None:
    draft = planned(door)
    asyncio.run(door.contacts.remove("maria", who=ANNA))
    door.meet("maria")
    with pytest.raises(NotAllowedError, match="another key"):
        asyncio.run(door.shares.share(draft["digest"], who=ANNA))
    assert events(door) == []


def test_while_paused_nothing_is_shared_and_nothing_is_fetched(door: Door, maria: SecretKey) -> None:
    """R31: refused with a type, nothing kept; afterwards what was shared before is looked at anew."""
    share, draft = shared(door)["id"], planned(door, ("new.txt", b"new"))
    pause(door)
    for tried in (lambda: planned(door), lambda: asyncio.run(door.shares.share(draft["digest"], who=ANNA))):
        with pytest.raises(PausedError, match="is paused by anna"):
            tried()
    assert [reason(door.get(maria, path)) for path in ("/v1/shares", f"/v1/shares/{share}", f"/v1/shares/{share}/1/0")] == [
        "paused"
    ] * 3
    assert (kept(door), events(door)) == (1, ["share.offer"])
    withdrawn(door, share)
    pause(door, on=False)
    assert fetched(door, maria, share) == (410, "gone")
    with pytest.raises(DigestMismatchError):
        asyncio.run(door.shares.share(draft["digest"], who=ANNA))


def test_what_is_not_fetched_in_time_or_is_taken_back_is_gone_with_its_bytes(door: Door, maria: SecretKey) -> None:
    """Seven days unless the owner says; bytes that another share still needs stay until that one ends."""
    first, second = shared(door)["id"], shared(door, ("same.txt", TEXT), seconds=30 * 86400)["id"]
    assert kept(door) == 1
    door.now += 7 * 86400
    assert fetched(door, maria, first) == (410, "gone")
    asyncio.run(door.shares.expire())
    assert (kept(door), fetched(door, maria, second)) == (1, (200, TEXT))
    withdrawn(door, second)
    assert (kept(door), fetched(door, maria, second)) == (0, (410, "gone"))
    with pytest.raises(AlreadyDecidedError, match="withdrawn already"):
        withdrawn(door, second)
    with pytest.raises(AlreadyDecidedError, match="expired already"):
        withdrawn(door, first)
    assert events(door) == ["share.offer", "share.offer", "share.expire", "share.fetch", "share.withdraw"]
    assert {row["state"] for row in asyncio.run(door.shares.listed(state="all"))} == {"withdrawn", "expired"}
    assert asyncio.run(door.shares.listed(state=None)) == []


def test_what_must_not_leave_unseen_is_found_in_files_names_and_note(door: Door, maria: SecretKey) -> None:
    """O1, O2: fences of runs that are alive, ids, secrets, hidden characters; where links lead, in ASCII."""
    with door.store.begin() as conn:
        a_run(conn, nonce="0123456789abcdef0123456789abcdef")
    said = planned(
        door,
        ("fence.bin", b"\0" + "0123456789ABCDEF0123456789abcdef".encode("utf-16-le")),
        ("a_0123456789abcdef.txt", b""),
        ("page.html", '<img src="https://еxample.org/x">'.encode()),  # noqa: RUF001 - a Cyrillic letter in it
        ("key", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"),
        note="my password is hunter22 \u202e",
    )
    assert {one.partition(": ")[0] for one in said["warnings"] if "fence value" in one or "looks like" in one} == {
        "fence.bin",
        "a_0123456789abcdef.txt",
        "key",
        "the note",
    }
    assert "the note: it holds 1 character that a screen would hide or act on" in said["warnings"]
    assert said["files"][2]["links"] == [{"host": "xn--xample-2of.org", "form": "html", "fetched_when_shown": True, "times": 1}]


def test_the_rows_of_a_share_cannot_become_others(door: Door, maria: SecretKey) -> None:
    """Invariant 9, at the last wall: raw SQL neither revives one nor changes what or to whom, nor takes living bytes away."""
    share = shared(door)["id"]
    for statement in (
        f"UPDATE shares SET sender_fingerprint = 'x' WHERE id = '{share}'",
        f"UPDATE shares SET expires = 9e9 WHERE id = '{share}'",
        "DELETE FROM shares",
        "UPDATE share_files SET digest = 'x'",
        "UPDATE share_files SET fetches = -1",
        "UPDATE share_parts SET data = x'00'",
        "DELETE FROM share_parts",
    ):
        with pytest.raises(StoreError), door.store.begin() as conn:
            conn.exec_driver_sql(statement)
    withdrawn(door, share)
    for state in ShareState:
        if state is not ShareState.WITHDRAWN:
            with pytest.raises(StoreError), door.store.begin() as conn:
                conn.exec_driver_sql(f"UPDATE shares SET state = '{state.value}'")


def test_what_is_over_a_bound_or_for_nobody_is_refused(door: Door, maria: SecretKey) -> None:
    cases: tuple[tuple[list[tuple[str, bytes]], dict[str, Any], type[RunnerError]], ...] = (
        ([("a", b"")] * 2, {}, UsageError),
        ([("A.txt", b""), ("a.TXT", b"")], {}, UsageError),
        ([("a:b", b""), ("a*b", b"")], {}, UsageError),  # both would arrive as a_b
        ([(".env", b""), ("_ENV", b"")], {}, UsageError),
        ([(f"{n}", b"") for n in range(17)], {}, UsageError),
        ([("a", b"x" * (8 * 1024 * 1024 + 1))], {}, UsageError),
        ([(f"{n}", b"x" * 6 * 1024 * 1024) for n in range(3)], {}, UsageError),
        ([("a", b"")], {"note": "x" * 2001}, UsageError),
        ([("a", b"")], {"seconds": 91 * 86400}, UsageError),
        ([("a", b"")], {"to": "nobody"}, NotFoundError),
    )
    for files, more, kind in cases:
        with pytest.raises(kind):
            planned(door, *files, **more)


def test_living_shares_and_what_was_shown_are_bounded(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.supervisor.shares.MOST_LIVING", 1)
    drafts = [planned(door, (f"{n}", b"")) for n in range(5)]
    with pytest.raises(DigestMismatchError):
        asyncio.run(door.shares.share(drafts[0]["digest"], who=ANNA))
    asyncio.run(door.shares.share(drafts[1]["digest"], who=ANNA))
    with pytest.raises(UsageError, match="can be fetched already"):
        asyncio.run(door.shares.share(drafts[2]["digest"], who=ANNA))


def test_the_record_of_a_share_has_who_what_and_to_whom_and_no_byte_of_it(door: Door, maria: SecretKey) -> None:
    """R28: listed by `runner log`."""
    share = shared(door, note="for your eyes")["id"]
    with door.store.reading() as conn:
        (row,) = [row for row in audit.of_subject(conn, share) if row.event == "share.offer"]
        assert shares.get(conn, share).shared_by == ANNA
    said = json.loads(row.data)
    assert (said["names"], said["files"], said["bytes"], said["by"]["name"]) == ("report.txt", 1, len(TEXT), "anna")
    assert said["contact"].startswith("maria ⟨")
    assert "figures" not in row.data
    assert "your eyes" not in row.data
