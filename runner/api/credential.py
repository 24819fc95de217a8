"""The approver's credential: a signature over exactly what is asked for, fresh, used once (W2).

Owns the statement that is signed, which both sides make from the same request, and the supervisor's check of it. Which requests
need one is the route table's business.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from runner.captures import ed25519
from runner.digest import MalformedJsonError, canonical, digest_json
from runner.errors import CredentialNeededError, NotAllowedError
from runner.model import Json, JsonObject

#: The body's field that carries it; it is no part of what is signed.
FIELD = "credential"
#: Seconds for which a challenge can be answered: a person types a passphrase meanwhile. And by how much clocks may differ.
LIFETIME, WINDOW = 300.0, 60.0
#: Challenges that are open at once; the oldest goes first.
_OPEN = 1024
_DOMAIN = b"runner.decision.v1\0"
_FIELDS = frozenset({"key", "time", "nonce", "signature"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Whose key signed."""

    name: str
    key_id: str


class Signer(Protocol):
    """Signs for a person; may ask them for a passphrase."""

    def __call__(self, act: str, body: JsonObject, nonce: str) -> JsonObject:
        """The credential for this request.

        Args:
            act: The request's path beneath `/v1`, such as `approvals/a_…/approve`.
            body: Its body.
            nonce: The supervisor's challenge.

        Raises:
            RunnerError: There is no key, or it cannot be used.
        """
        ...


def statement(act: str, body: JsonObject, *, time: int, nonce: str) -> bytes:
    """What is signed: verb and id in `act`, the digest of what was shown, the reason's digest, and everything else asked for.

    Raises:
        MalformedJsonError: The body has no canonical form.
    """
    asked: JsonObject = {name: value for name, value in body.items() if name != FIELD}
    reason = asked.get("reason")
    fields: JsonObject = {
        "act": act,
        "digest": asked.get("digest"),
        "reason": None if reason is None else digest_json("runner.reason.v1", reason),
        "asked": digest_json("runner.asked.v1", asked),
        "time": time,
        "nonce": nonce,
    }
    return _DOMAIN + canonical(fields)


def sign(key: ed25519.SecretKey, act: str, body: JsonObject, *, time: int, nonce: str) -> JsonObject:
    """The credential of one request."""
    signature = key.sign(statement(act, body, time=time, nonce=nonce))
    return {"key": key.public, "time": time, "nonce": nonce, "signature": signature}


class Credentials:
    """Checks credentials against the operator's list of keys.

    Args:
        keys: Name → public key.
        clock: Epoch seconds.
        nonces: Makes random text.
    """

    def __init__(self, keys: Mapping[str, str], *, clock: Callable[[], float], nonces: Callable[[], str]) -> None:
        self._names = {key: name for name, key in keys.items()}
        self._clock = clock
        self._nonces = nonces
        self._open: OrderedDict[str, float] = OrderedDict()

    @property
    def needed(self) -> bool:
        """Whether the operator has set one up."""
        return bool(self._names)

    def challenge(self) -> str:
        """Random text that one credential may name, once, for a while."""
        nonce = self._nonces()
        self._open[_hashed(nonce)] = self._clock() + LIFETIME
        while len(self._open) > _OPEN:
            self._open.popitem(last=False)
        return nonce

    def check(self, act: str, body: JsonObject) -> Proof:
        """Whose key signed exactly this request, just now, for a challenge of ours that is spent with it.

        Raises:
            CredentialNeededError: It carries none; its details are the challenge to answer.
            NotAllowedError: What it carries does not hold.
        """
        given = body.get(FIELD)
        if given is None:
            raise CredentialNeededError(
                "cannot release anything here without an approver's key",
                details=self.challenge(),
                resolution="runner approver keygen makes a key; the operator adds it under [approvers] keys",
            )
        key, time, nonce, signature = _parsed(given)
        if not self._spend(nonce):
            raise _refused("its challenge is unknown, spent or too old")
        if abs(self._clock() - time) > WINDOW:
            raise _refused(f"it was signed more than {WINDOW:.0f} s before or after this supervisor's time")
        name = self._names.get(key)
        if name is None:
            raise _refused("its key is none of the approvers'")
        try:
            message = statement(act, body, time=time, nonce=nonce)
        except MalformedJsonError:
            raise _refused("what it signs cannot be written down in one way") from None
        if not ed25519.verify(key, signature, message):
            raise _refused("the signature is not one over this request")
        return Proof(name=name, key_id=ed25519.fingerprint(key))

    def _spend(self, nonce: str) -> bool:
        """Whether it is an open challenge; from now on it is none."""
        hashed = _hashed(nonce)
        found = next((one for one in self._open if hmac.compare_digest(one, hashed)), None)
        return found is not None and self._clock() < self._open.pop(found)


def _parsed(given: Json) -> tuple[str, int, str, str]:
    if not isinstance(given, dict) or given.keys() != _FIELDS:
        raise _refused("it is no object of key, time, nonce and signature")
    key, time, nonce, signature = (given[name] for name in ("key", "time", "nonce", "signature"))
    texts = [one for one in (key, nonce, signature) if isinstance(one, str) and one.isascii() and len(one) <= 200]
    if len(texts) != 3 or isinstance(time, bool) or not isinstance(time, int):
        raise _refused("a field of it is not of its kind")
    return texts[0], time, texts[1], texts[2]


def _refused(why: str) -> NotAllowedError:
    return NotAllowedError(f"cannot accept the approver's credential: {why}", resolution="look at the call again and sign anew")


def _hashed(nonce: str) -> str:
    return hashlib.sha256(nonce.encode()).hexdigest()
