"""A request, parsed and bounded before a handler sees it.

Owns reading bodies and parameters. A field of the wrong type is refused, never converted; unknown fields are refused too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import Request

from runner.api.credential import Proof
from runner.api.peer import Peer
from runner.approvals import Approver
from runner.digest import MalformedJsonError, parse_strict
from runner.errors import NotFoundError, UsageError
from runner.model import JsonObject

#: A client that wants to wait longer asks again.
LONGEST_WAIT = 30.0
Meaning = TypeVar("Meaning")
_CHANNEL = "control socket"
_MAX_REF = 64
_MAX_TEXT = 4096
_MAX_CALLS = 1000
_MAX_NAMED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a handler may know of a request."""

    peer: Peer
    raw_ref: str = ""
    params: QueryParams = field(default_factory=QueryParams)
    body: JsonObject = field(default_factory=dict)
    proof: Proof | None = None  #: whose key signed the request

    @property
    def ref(self) -> str:
        """The id or prefix in the path.

        Raises:
            NotFoundError: Longer than any id.
        """
        if len(self.raw_ref) > _MAX_REF:
            raise NotFoundError("cannot find an id that long")
        return self.raw_ref

    @property
    def who(self) -> Approver:
        """The caller as decisions record it (W4)."""
        uid, host, proof = self.peer.uid, os.uname().nodename, self.proof
        if proof is None:
            return Approver(uid=uid, channel=_CHANNEL, tty=self.peer.tty, host=host)
        return Approver(
            uid=uid,
            channel=_CHANNEL,
            name=proof.name,
            method="key",
            key_id=proof.key_id,
            tty=self.peer.tty,
            host=host,
        )

    @property
    def version(self) -> int:
        """The version the client has seen."""
        return self.number("version") or 0

    @property
    def seconds(self) -> float:
        """How long to wait, bounded."""
        try:
            wanted = float(self.query("seconds") or "0")
        except ValueError:
            raise UsageError("cannot wait: seconds is no number") from None
        return min(wanted, LONGEST_WAIT) if wanted > 0 else 0.0

    def number(self, name: str) -> int | None:
        """A whole number among the query parameters."""
        text = self.query(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 15:
            raise UsageError(f"cannot answer: {name} is no number")
        return int(text)

    def query(self, name: str) -> str | None:
        """A query parameter; empty is absent."""
        value = self.params.get(name)
        return value[:_MAX_TEXT] if value else None

    def queries(self, name: str) -> list[str] | None:
        """A repeated query parameter."""
        return [value[:_MAX_TEXT] for value in self.params.getlist(name) if value][:20] or None

    def text(self, name: str) -> str | None:
        """An optional text of the body."""
        value = self.body.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > _MAX_TEXT:
            raise UsageError(f"cannot use {name}: it must be text of at most {_MAX_TEXT} characters")
        return value

    def raw(self, name: str, *, limit: int) -> str | None:
        """An optional longer text of the body, such as a call's whole input."""
        value = self.body.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > limit):
            raise UsageError(f"cannot use {name}: it must be text of at most {limit} characters")
        return value

    def texts(self, name: str) -> dict[str, str]:
        """An optional object of texts of the body; absent is empty."""
        value = self.body.get(name, {})
        if not isinstance(value, dict) or len(value) > _MAX_NAMED:
            raise UsageError(f"cannot use {name}: it must be an object of at most {_MAX_NAMED} texts")
        one = Ask(peer=self.peer, body=value)
        return {key: one.need(key) for key in value}

    def count(self, name: str) -> int:
        """A whole number above zero that the body must have."""
        value = self.body.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**12:
            raise UsageError(f"cannot use {name}: it must be a whole number above zero")
        return value

    def calls(self) -> list[tuple[str, str]]:
        """Approvals named in the body, `{"id", "digest"}` each; the digest may be left out."""
        value = self.body.get("calls", [])
        if not isinstance(value, list) or len(value) > _MAX_CALLS:
            raise UsageError(f"cannot use calls: it must be a list of at most {_MAX_CALLS}")
        found: list[tuple[str, str]] = []
        for item in value:
            if not isinstance(item, dict) or item.keys() - {"id", "digest"}:
                raise UsageError("cannot use calls: each must be an object of id and digest")
            one = Ask(peer=self.peer, body=item)
            found.append((one.need("id")[: _MAX_REF + 1], one.text("digest") or ""))
        return found

    def need(self, name: str) -> str:
        """A text the body must have."""
        value = self.text(name)
        if not value:
            raise UsageError(f"cannot answer: {name} is missing")
        return value

    def one_of(self, name: str, meanings: Mapping[str, Meaning]) -> Meaning:
        """What a word that the body must have stands for."""
        word = self.need(name)
        if word not in meanings:
            raise UsageError(f"cannot use {name}: it must be {' or '.join(meanings)}")
        return meanings[word]

    def flag(self, name: str) -> bool:
        """An optional boolean of the body; absent is false."""
        value = self.body.get(name, False)
        if not isinstance(value, bool):
            raise UsageError(f"cannot use {name}: it must be true or false")
        return value

    def path(self, name: str) -> Path:
        """An absolute path the body must have."""
        found = Path(self.need(name))
        if not found.is_absolute():
            raise UsageError(f"cannot use {name}: it must be an absolute path")
        return found


async def read_body(request: Request, *, cap: int) -> JsonObject:
    """The JSON object of a request of at most `cap` bytes.

    Raises:
        UsageError: Another media type, too large, not strict JSON, or no object.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("cannot read the request: its body must be application/json")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > cap:
            raise UsageError(f"cannot read the request: its body is over {cap} bytes")
    try:
        value = parse_strict(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise UsageError("cannot read the request: its body is not UTF-8") from None
    except MalformedJsonError as error:
        raise UsageError(f"cannot read the request: {error}") from None
    if not isinstance(value, dict):
        raise UsageError("cannot read the request: its body is no JSON object")
    return value
