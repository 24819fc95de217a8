"""Who sent a request that came over the network: proven by its signature, before anything else of it is looked at.

Owns the order of looking: head, key, signature, time, pace. Whoever has no known key gets the one answer, whatever is wrong,
and a key of nobody costs what a known one does; whoever has a known one hears what they can act on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.requests import Request

from runner.captures import ed25519, signing
from runner.captures.delivery import AGENT, KEY, LENGTH, Delivery
from runner.captures.refusals import STRANGER, refused
from runner.captures.signing import WINDOW, SignatureError

MAX_HEADERS = 40
#: Signed requests of one contact within a minute, of whatever kind.
PACE = 120
_COVERED = frozenset({"signature", "signature-input", *(name for name in signing.SEND if not name.startswith("@"))})
#: For whoever claims a key that nobody has: checking it costs what checking a known one does.
_NOBODY = ed25519.make().public


class Caller(NamedTuple):
    """A known contact, proven by this request."""

    fingerprint: str
    nonce: str
    expires: float


class Gate:
    """Looks at requests.

    Args:
        origin: How senders write this ingress: scheme, name, port.
        clock: Epoch seconds.
    """

    def __init__(self, origin: str, *, clock: Callable[[], float]) -> None:
        self._origin = origin
        self._clock = clock
        self._paces: dict[str, deque[float]] = {}

    def caller(self, request: Request, known: Mapping[str, str]) -> Caller:
        """The contact that made a request.

        Args:
            request: Its head; no byte of its body is read.
            known: Public keys by fingerprint.

        Raises:
            DeliveryError: Nobody known, too old, or too many.
        """
        head = _head(request)
        name = signing.claimed_key(head) or ""
        public = known.get(name)
        try:
            found = signing.verified(
                signing.message(request.method, self._url(request), list(head.items())),
                public=public or _NOBODY,
                name=name,
            )
        except SignatureError:
            raise refused(STRANGER) from None
        if public is None:
            raise refused(STRANGER)
        now = self._clock()
        if abs(found.created - now) > WINDOW:
            raise refused("clock", more=f"{round(found.created - now):+d} s")
        self._keep_pace(name)
        return Caller(name, found.nonce, found.created + 2 * WINDOW)

    def _url(self, request: Request) -> str:
        path = request.scope["raw_path"].decode("ascii", "replace")
        query = request.scope["query_string"].decode("ascii", "replace")
        return f"{self._origin}{path}" + (f"?{query}" if query else "")

    def _keep_pace(self, name: str) -> None:
        """Known keys only are counted, so that nobody else can use a contact's share up, or this memory."""
        now = time.monotonic()
        lately = self._paces.setdefault(name, deque())
        while lately and lately[0] < now - 60:
            lately.popleft()
        if len(lately) >= PACE:
            raise refused("rate", more="too many requests", retry_after=60)
        lately.append(now)


def delivery_of(request: Request, caller: Caller) -> Delivery:
    """What the signed head says of the capture to come.

    Raises:
        DeliveryError: It says it in no form of ours.
    """
    head = request.headers
    form = {"content-type": "application/json"}
    if (
        any(head.get(name) != value for name, value in form.items())
        or "content-encoding" in head
        or "transfer-encoding" in head
    ):
        raise refused("malformed", more="a capture comes as application/json, whole and as it is")
    digest = signing.digest_in(head.get("content-digest", ""))
    return _delivery(
        caller,
        agent=head.get("runner-agent", ""),
        key=head.get("idempotency-key", ""),
        digest=None if digest is None else digest.hex(),
        length=head.get("content-length", ""),
    )


def asked_about(request: Request, caller: Caller) -> Delivery:
    """What a request asks about that wants to know whether a capture may come.

    Raises:
        DeliveryError: It says it in no form of ours.
    """
    query = request.query_params
    digest = query.get("digest", "")
    fits = len(digest) == 64 and not set(digest) - set("0123456789abcdef")
    return _delivery(
        caller,
        agent=query.get("agent", ""),
        key=query.get("key", ""),
        digest=digest if fits else None,
        length=query.get("length", ""),
    )


def _delivery(caller: Caller, *, agent: str, key: str, digest: str | None, length: str) -> Delivery:
    if digest is None or not (AGENT.fullmatch(agent) and KEY.fullmatch(key) and LENGTH.fullmatch(length)):
        raise refused("malformed", more="agent, key, digest or length is none")
    return Delivery(caller.fingerprint, caller.nonce, caller.expires, agent, key, digest, int(length))


def _head(request: Request) -> dict[str, str]:
    """The header lines, each of those that are signed once.

    Raises:
        DeliveryError: Too many, or one of them twice.
    """
    lines = request.headers.items()
    names = [name for name, _ in lines]
    if len(lines) > MAX_HEADERS or any(names.count(name) > 1 for name in _COVERED):
        raise refused(STRANGER)
    return dict(lines)
