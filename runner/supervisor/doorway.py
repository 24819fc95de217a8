"""What `runner doctor` says about the network's door: whether it is open, who can be sure of it, what it turned away. Pure.

`knocking` has the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runner.captures.signing import WINDOW
from runner.model import Json
from runner.supervisor.health import Check, Level, Trouble

_DAY = 86400.0
#: Days before its end from which on a certificate is spoken of.
SOON = 14
#: Refusals of requests whose time is off, by the word they are counted under.
CLOCK = "clock"
_AGAIN = "runner down, runner up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate that belongs to its key: from when to when it is good, and whether it names the host senders write."""

    begins: float
    ends: float
    named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Doorway:
    """What was found. `said` is what the supervisor that runs says of its door; None: none runs, or it has none."""

    now: float
    bind: str | None  #: as the settings of this command have it; None: off
    origin: str = ""
    runs: bool = False
    said: Mapping[str, Json] | None = None
    behind_proxy: bool = False
    certificate: Certificate | Trouble | None = None
    answers: Trouble | None = None  #: why nobody takes a connection there


def doorway_checks(door: Doorway) -> Iterator[Check]:
    """Every check of the door; one where it is off."""
    if door.bind is None and door.said is None:
        yield Check(name="ingress", level=Level.FINE, found="off: nobody sends over the network")
        return
    yield _open(door)
    if door.bind is not None:
        yield _tls(door)
    if door.said is not None:
        yield _clock(door.said)
        yield _refusals(door.said)


def _open(door: Doorway) -> Check:
    name = "ingress"
    if not door.runs:
        return Check(name=name, level=Level.NOTE, found=f"on at {door.bind}; no supervisor runs", fix="runner up")
    if door.said is None:
        found = f"on at {door.bind}, and the supervisor that runs was started without it"
        return Check(name=name, level=Level.WRONG, found=found, fix=_AGAIN)
    address = door.said.get("address")
    if door.bind is None or address != door.origin:
        here = "off" if door.bind is None else door.origin
        found = f"the supervisor that runs listens as {address}; by this command's settings it is {here}"
        return Check(name=name, level=Level.NOTE, found=found, fix=f"{_AGAIN}, where the settings changed")
    if door.answers is not None:
        return Check(name=name, level=Level.WRONG, found=door.answers.found, fix=door.answers.fix)
    return Check(name=name, level=Level.FINE, found=f"answers at {door.bind} as {address}; {door.said.get('taken')} taken")


def _tls(door: Doorway) -> Check:
    name = "ingress TLS"
    match door.certificate:
        case Trouble(found, fix):
            return Check(name=name, level=Level.WRONG, found=found, fix=fix)
        case Certificate() as certificate:
            return _dates(name, certificate, door)
    if door.behind_proxy:
        found = f"a proxy in front is trusted to speak TLS as {door.origin}; what it does is not looked at from here"
        return Check(name=name, level=Level.NOTE, found=found)
    return Check(name=name, level=Level.FINE, found="none: it is reached from this machine alone")


def _dates(name: str, certificate: Certificate, door: Doorway) -> Check:
    fix = f"put another certificate in its place, then {_AGAIN}"
    left = (certificate.ends - door.now) / _DAY
    if not certificate.begins <= door.now < certificate.ends:
        when = "ended" if left <= 0 else "does not begin yet:"
        days = -left if left <= 0 else (certificate.begins - door.now) / _DAY
        found = f"its certificate {when} {days:.0f} days {'ago' if left <= 0 else 'from now'}; every sender refuses it"
        return Check(name=name, level=Level.WRONG, found=found, fix=fix)
    if not certificate.named:
        found = f"its certificate does not name the host of {door.origin}; every sender refuses it"
        return Check(name=name, level=Level.WRONG, found=found, fix=f"{fix}, or change public_url")
    if left < SOON:
        return Check(name=name, level=Level.NOTE, found=f"its certificate ends in {left:.0f} days", fix=fix)
    return Check(name=name, level=Level.FINE, found=f"its certificate is good for {left:.0f} days more")


def _clock(said: Mapping[str, Json]) -> Check:
    name, count = "ingress clock", _count(said, CLOCK)
    window = f"{WINDOW / 60:.0f} minutes"
    if count:
        found = f"{count} requests of contacts were refused because their time is more than {window} from this host's"
        return Check(name=name, level=Level.NOTE, found=found, fix="set this host's clock by the network, or tell them")
    return Check(name=name, level=Level.FINE, found=f"no contact's clock was more than {window} off")


def _refusals(said: Mapping[str, Json]) -> Check:
    refused = said.get("refused")
    words = {word: _count(said, word) for word in refused} if isinstance(refused, dict) else {}
    each = f": {', '.join(f'{word} {count}' for word, count in sorted(words.items()))}" if words else ""
    return Check(name="ingress refusals", level=Level.FINE, found=f"{sum(words.values())} since it was started{each}")


def _count(said: Mapping[str, Json], word: str) -> int:
    refused = said.get("refused")
    count = refused.get(word) if isinstance(refused, dict) else None
    return count if isinstance(count, int) else 0
