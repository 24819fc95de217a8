"""The contact's side of a share: what is there to be fetched, and its bytes. What the other side says is data, bounded here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runner.api.courier import Courier, worded
from runner.captures.sharing import MAX_BYTES, MAX_FILES
from runner.errors import RunnerError, UsageError
from runner.model import Json, JsonObject
from runner.store.pieces import lengths

_SHARE = re.compile(r"s_[0-9a-hjkmnp-tv-z]{16}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_TEXT, _MAX_SHARES = 4096, 200
_DOING = "cannot fetch what was shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedFile:
    """A file as the other side calls it."""

    n: int
    name: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What was shared with this key."""

    share: str
    note: str
    expires: float
    files: tuple[OfferedFile, ...]


class Collector:
    """Fetches shares.

    Args:
        courier: The connection, with the contact's key.
    """

    def __init__(self, courier: Courier) -> None:
        self._courier = courier

    def offers(self) -> tuple[Offer, ...]:
        """Everything that this key can fetch now.

        Raises:
            DeliveryError: The other side does not say.
            RunnerError: What it says is no such list.
        """
        with worded(_DOING):
            found = self._courier.read("/v1/shares").get("shares")
        if not isinstance(found, list) or len(found) > _MAX_SHARES:
            raise _unreadable()
        return tuple(_offer(one) for one in found)

    def offer(self, share: str) -> Offer:
        """One of them.

        Raises:
            UsageError: This is no id of a share.
            DeliveryError: There is none for this key, or no more.
            RunnerError: What the other side says is no share.
        """
        if not _SHARE.fullmatch(share):
            raise UsageError(f"cannot fetch {share!r}: give the whole id", resolution="runner get --to URL lists what there is")
        with worded(_DOING):
            return _offer(self._courier.read(f"/v1/shares/{share}"))

    def pieces(self, offer: Offer, file: OfferedFile) -> Iterator[bytes]:
        """The bytes of a file, each piece as long as it has to be.

        Raises:
            DeliveryError: The other side does not go on: the share was taken back, its time is up, it is paused.
            RunnerError: A piece is not as long as its file is said to be.
        """
        for part, length in enumerate(lengths(file.size)):
            with worded(_DOING):
                data = self._courier.read_bytes(f"/v1/shares/{offer.share}/{file.n}/{part}")
            if len(data) != length:
                raise RunnerError(f"cannot fetch {file.name}: the other side sent {len(data)} bytes where {length} belong")
            yield data


def _offer(found: Json) -> Offer:
    if not isinstance(found, dict):
        raise _unreadable()
    share, note, expires, files = (found.get(name) for name in ("share", "note", "expires", "files"))
    texts = isinstance(share, str) and isinstance(note, str) and _SHARE.fullmatch(share) and len(note) <= _MAX_TEXT
    if not texts or not isinstance(expires, int | float) or not isinstance(files, list) or not 0 < len(files) <= MAX_FILES:
        raise _unreadable()
    return Offer(share=str(share), note=str(note), expires=float(expires), files=tuple(_file(one) for one in files))


def _file(found: Json) -> OfferedFile:
    if not isinstance(found, dict):
        raise _unreadable()
    n, size = (_count(found, name) for name in ("n", "size"))
    name, digest = found.get("name"), found.get("digest")
    if not isinstance(name, str) or not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or len(name) > _MAX_TEXT:
        raise _unreadable()
    return OfferedFile(n=n, name=name, size=size, digest=digest)


def _count(found: JsonObject, name: str) -> int:
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_BYTES:
        raise _unreadable()
    return value


def _unreadable() -> RunnerError:
    return RunnerError("cannot read the other side's answer: it is no share", resolution="check the address")
