"""The audit's chain, checked link by link: where it is broken, and how (A1). Pure; rows come from whoever can read them.

What a database holds may be anything, whatever its column says. A chain that was cut off together with the note of its end
holds by itself; only an anchor kept elsewhere, a place with its hash, can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from runner.digest import MalformedJsonError, digest_json
from runner.model import Digest

#: What the first row is chained to.
GENESIS = Digest("sha256:" + "0" * 64)
#: The digest domain of a row.
DOMAIN = "runner.audit.v1"
#: The key in `meta` under which the chain's end is kept, so that a cut-off tail is noticed.
END = "audit_head"


class Link(NamedTuple):
    """A row of the audit as it is in the database; `data` is the exact text that was hashed."""

    seq: int
    time: float
    event: str
    subject: str
    data: str
    previous: str
    hash: str


class Place(NamedTuple):
    """A row by number and hash: the chain's end, or an anchor."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq} {self.hash}"


_START = Place(0, GENESIS)


class Fault(Enum):
    """What was done to the chain."""

    CHANGED = "changed"
    REMOVED = "removed"
    REORDERED = "reordered"
    PUT_IN = "put in"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class Break:
    """The first place at which the chain does not hold."""

    fault: Fault
    seq: int
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of a look at a whole chain. `end` is the last row that holds; `loose` the first row that no anchor covers."""

    end: Place
    broken: Break | None
    loose: Link | None


def hash_of(link: Link, *, seq: int | None = None, previous: str | None = None) -> Digest | None:
    """The hash that a row's fields have, at another place or behind another row if asked; None when they can have none."""
    try:
        return digest_json(
            DOMAIN,
            {
                "seq": link.seq if seq is None else seq,
                "time": float(link.time),
                "event": link.event,
                "subject": link.subject,
                "data": link.data,
                "previous": link.previous if previous is None else previous,
            },
        )
    except (MalformedJsonError, TypeError, ValueError):
        return None


def place(text: str | None) -> Place | None:
    """The reverse of a place's text; None when it is none."""
    seq, _, digest = (text or "").partition(" ")
    good = seq.isascii() and seq.isdigit() and len(seq) <= 18 and digest.startswith("sha256:")
    return Place(int(seq), digest) if good else None


def check(read: Callable[[], Iterable[Link]], *, end: Place | None, anchor: Place | None = None) -> Checked:
    """Follow a chain from its first row to its last.

    Args:
        read: All rows by number; asked again when the chain is broken, to tell how.
        end: The note of the chain's end; None when there is none.
        anchor: A place that was kept elsewhere.
    """
    at, loose = _START, None
    anchored = anchor in (None, _START)
    for link in read():
        if (link.seq, link.previous, link.hash) != (at.seq + 1, at.hash, hash_of(link)):
            return Checked(end=at, broken=_tell(link, at, read), loose=loose)
        at = Place(link.seq, link.hash)
        anchored = anchored or at == anchor
        if loose is None and link.seq > (anchor or _START).seq:
            loose = link
    broken = _against_end(at, end)
    if broken is None and anchor is not None and not anchored:
        broken = _against_anchor(at, anchor)
    return Checked(end=at, broken=broken, loose=loose)


def _tell(link: Link, before: Place, read: Callable[[], Iterable[Link]]) -> Break:
    """What was done to a chain that holds up to `before` and does not go on with `link`."""
    here = before.seq + 1
    if link.seq < here:
        return Break(Fault.PUT_IN, link.seq, f"row {link.seq} was put in: the audit begins with row 1")
    if link.seq == here and (broken := _tell_by_itself(link, before)):
        return broken
    earlier, has_heir = {str(GENESIS): 0}, False
    for one in read():
        if one.seq < here:
            earlier[one.hash] = one.seq
        has_heir = has_heir or one.previous == before.hash
    if link.seq == here and link.previous in earlier:
        return _put_in(link, earlier)
    if link.seq == here and hash_of(link) == link.hash:
        return Break(Fault.CHANGED, max(before.seq, 1), f"row {max(before.seq, 1)} was changed and hashed anew")
    if has_heir:
        return Break(Fault.REORDERED, here, f"rows from {here} on were reordered: what belongs there stands elsewhere")
    gone = f"rows {here} to {link.seq - 1} were" if link.seq > here + 1 else f"row {here} was"
    return Break(Fault.REMOVED, here, f"{gone} removed")


def _tell_by_itself(link: Link, before: Place) -> Break | None:
    """Whether a row in its right place is still chained to the right row, and only it is at fault."""
    if before.hash == link.previous or hash_of(link, previous=before.hash) == link.hash:
        return Break(Fault.CHANGED, link.seq, f"row {link.seq} was changed")
    return None


def _put_in(link: Link, earlier: dict[str, int]) -> Break:
    """Two rows claim the same one before them: `link` came too late or another too early."""
    due = earlier[link.previous] + 1
    was_here = link.hash not in earlier and hash_of(link, seq=due) == link.hash
    seq = due if was_here else link.seq
    return Break(Fault.PUT_IN, seq, f"row {seq} was put in")


def _against_end(at: Place, end: Place | None) -> Break | None:
    if end is None:
        gone = "the note of where the audit ends is gone, so rows may have been cut off"
        return Break(Fault.CUT_OFF, at.seq + 1, gone) if at.seq else None
    if end.seq > at.seq:
        return Break(Fault.CUT_OFF, at.seq + 1, f"rows {at.seq + 1} to {end.seq} were cut off")
    if end.seq < at.seq:
        return Break(Fault.PUT_IN, end.seq + 1, f"row {end.seq + 1} was put in behind the end")
    if end.hash != at.hash:
        return Break(Fault.CHANGED, max(at.seq, 1), f"row {at.seq} is not the one that the audit ended with")
    return None


def _against_anchor(at: Place, anchor: Place) -> Break:
    if anchor.seq > at.seq:
        return Break(Fault.CUT_OFF, at.seq + 1, f"rows {at.seq + 1} to {anchor.seq} were cut off: the anchor has seen them")
    return Break(Fault.CHANGED, anchor.seq, f"row {anchor.seq} is not the one of the anchor: it or a row before was rewritten")
