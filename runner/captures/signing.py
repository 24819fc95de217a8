"""Signed requests between a sender and an ingress: HTTP Message Signatures, RFC 9421. The one door to that library.

Owns which parts of a request are covered and how old it may be. Whose key it is, and whether it was seen before, is for others.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from http_message_signatures import (
    HTTPMessageSignaturesException,
    HTTPMessageSigner,
    HTTPMessageVerifier,
    HTTPSignatureAlgorithm,
    InvalidSignature,
    MappingKeyResolver,
)

from runner.captures import ed25519, keys
from runner.captures.ed25519 import SecretKey

#: Ties a signature to this use of a key: one made for something else verifies nowhere here.
TAG = "runner-capture"
#: Seconds a request's time may differ from ours, either way.
WINDOW = 300.0
READ = ("@method", "@target-uri")
SEND = (*READ, "content-digest", "content-length", "content-type", "runner-agent", "idempotency-key")
_KEY_ID = re.compile(r';keyid="([a-z2-7]{4}(?:-[a-z2-7]{4}){3})"')
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request without its body. `headers` keeps repeated lines apart."""

    method: str
    url: str  #: absolute, as the sender writes it
    headers: _Lines = field(default_factory=lambda: _Lines(()))


class _Lines:
    """Header lines in their order."""

    def __init__(self, lines: Sequence[tuple[str, str]]) -> None:
        self._lines = tuple(lines)

    def items(self) -> Sequence[tuple[str, str]]:
        return self._lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What a verified signature says besides the message."""

    nonce: str
    created: float


class SignatureError(ValueError):
    """The signature does not fit the message and the key."""


class _Ed25519(HTTPSignatureAlgorithm):
    algorithm_id = "ed25519"

    def __init__(self, public_key: Any = None, private_key: Any = None) -> None:
        self._public, self._private = public_key, private_key

    def sign(self, message: bytes) -> bytes:
        text: str = self._private.sign(message)
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    def verify(self, signature: bytes, message: bytes) -> None:
        if not ed25519.verify(self._public, base64.urlsafe_b64encode(signature).decode().rstrip("="), message):
            raise InvalidSignature("it does not verify")


class _Verifier(HTTPMessageVerifier):
    def validate_created_and_expires(self, sig_input: Any, max_age: timedelta | None = None) -> None:
        """Times are looked at once the signature is known to be good, so that only its maker hears about them."""


def message(method: str, url: str, headers: Sequence[tuple[str, str]]) -> Message:
    """A received request's head."""
    return Message(method=method, url=url, headers=_Lines(headers))


def sign(method: str, url: str, headers: Mapping[str, str], *, key: SecretKey, nonce: str, now: float) -> dict[str, str]:  # noqa: PLR0913
    """All headers of a request, its signature among them.

    Args:
        method: `GET` or `POST`.
        url: Absolute; must reach the other side as it stands.
        headers: With every header of `SEND` where there is a body.
        key: The sender's.
        nonce: Never used before.
        now: Epoch seconds.
    """
    made = dict(headers)
    request = _Outgoing(method, url, made)
    HTTPMessageSigner(
        signature_algorithm=_Ed25519,
        key_resolver=MappingKeyResolver(public_keys={}, private_keys={keys.shown(key.public): key}),  # type: ignore[dict-item]
    ).sign(
        request,
        key_id=keys.shown(key.public),
        created=datetime.fromtimestamp(now, UTC),
        nonce=nonce,
        label="sig",
        tag=TAG,
        covered_component_ids=READ if method == "GET" else SEND,
        use_existing_digest=method != "GET",
    )
    return made


def claimed_key(headers: Mapping[str, str]) -> str | None:
    """The fingerprint of the key that a request says it is signed with."""
    found = _KEY_ID.search(headers.get("signature-input", "")[:2048])
    return None if found is None else found[1]


def verified(request: Message, *, public: str, name: str) -> Signed:
    """What the signature of a request says, if it was made with the private half of `public`.

    Args:
        request: The request's head.
        public: The key.
        name: Under which the request says it was signed.

    Raises:
        SignatureError: None, malformed, over too little, with another key, or for another purpose.
    """
    resolver = MappingKeyResolver(public_keys={name: public}, private_keys={})  # type: ignore[dict-item]
    try:
        (found,) = _Verifier(signature_algorithm=_Ed25519, key_resolver=resolver).verify(
            request, max_age=None, expect_tag=TAG, require_components=READ if request.method == "GET" else SEND
        )
    except (HTTPMessageSignaturesException, ValueError, TypeError) as error:
        raise SignatureError(str(error)) from None
    created, nonce = found.parameters.get("created"), found.parameters.get("nonce")
    if not isinstance(created, int) or not isinstance(nonce, str) or not 16 <= len(nonce) <= 64 or not nonce.isalnum():
        raise SignatureError("it has no time or no nonce")
    return Signed(nonce=nonce, created=float(created))


def digest_header(sha256: bytes) -> str:
    """`Content-Digest` of a body."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def digest_in(header: str) -> bytes | None:
    """The SHA-256 in a `Content-Digest`; None when it is written any other way than ours."""
    found = _DIGEST.fullmatch(header)
    return None if found is None else base64.b64decode(found[1])


class _Outgoing:
    def __init__(self, method: str, url: str, headers: dict[str, str]) -> None:
        self.method, self.url, self.headers = method, url, headers
