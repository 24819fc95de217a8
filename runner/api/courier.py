"""The sender's side of an ingress: signs, asks before it uploads, tries again where that can be mended, and never sends twice.

Owns the connection to somebody else's machine. What that machine answers is data: known reasons are told in our own words.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlencode

import httpx2

from runner.api.client import as_object
from runner.api.outbox import Outbox, Sent
from runner.captures import keys, signing
from runner.captures.ed25519 import SecretKey
from runner.captures.refusals import REFUSALS, refused
from runner.digest import MalformedJsonError, parse_strict
from runner.errors import DeliveryError, RunnerError, SupervisorUnavailableError, UsageError
from runner.model import JsonObject

#: Bodies above this are asked about before they are sent.
ASK_ABOVE = 16 * 1024
TRIES = 6
_FIRST, _LONGEST = 1.0, 30.0
#: Seconds for which the other side is asked to hold a question, and below which it did not.
_HELD, _AT_ONCE = 20, 1.0
_MAX_ANSWER = 4 * 1024 * 1024
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,260}")
_CAPTURE = re.compile(r"c_[0-9a-z]{16}")
_REFUSED = refused("refused").brief.partition(":")[0]

Say = Callable[[str], None]
Answer = TypeVar("Answer")


class Courier:
    """A connection to one ingress.

    Args:
        to: Its address: scheme, name, port.
        key: The sender's.
        ca: A PEM file of certificates to trust besides the system's; None: the system's alone.
        say: Told of every step.
        rest: Waits so many seconds.
    """

    def __init__(
        self, to: str, key: SecretKey, *, ca: Path | None, say: Say, rest: Callable[[float], None] = time.sleep
    ) -> None:
        self._to = address(to)
        self._key = key
        self._say = say
        self._rest = rest
        timeout = httpx2.Timeout(30.0, connect=10.0)
        self._http = httpx2.Client(verify=_trust(ca), timeout=timeout, trust_env=False, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.close()

    def send(self, body: bytes, *, agent: str, outbox: Outbox, key_file: str) -> Sent:
        """Deliver a capture, once; the receipt, which is kept too.

        Raises:
            DeliveryError: The other side does not take it.
            SupervisorUnavailableError: It could not be reached; the same command sends the same capture.
        """
        digest = hashlib.sha256(body).digest()
        sent = outbox.begin(
            to=self._to, agent=agent, fingerprint=keys.shown(self._key.public), digest=digest.hex(), key_file=key_file
        )
        try:
            receipt = self._patiently(lambda: self._deliver(body, sent, digest))
        except DeliveryError as error:
            if not REFUSALS[error.code].again:
                outbox.drop(sent)
            raise
        capture = receipt.get("capture")
        if not isinstance(capture, str) or not _CAPTURE.fullmatch(capture):
            raise RunnerError("cannot read the other side's answer: it is no receipt")
        done = replace(sent, capture=capture, sent=time.time())
        outbox.arrived(done)
        return done

    def state(self, capture: str, *, wait: int = 0) -> JsonObject:
        """What became of a capture: `{"capture", "state", "reply"}`.

        Args:
            capture: Its whole id.
            wait: Seconds in which the other side waits for news.
        """
        if not _CAPTURE.fullmatch(capture):
            raise UsageError(f"cannot ask about {capture!r}: give the whole id", resolution="runner send printed it")
        path = f"/v1/captures/{capture}" + (f"?wait={wait}" if wait else "")
        with worded("cannot ask about the capture"):
            return self.read(path)

    def outcome(self, capture: str, *, waiting: Callable[[], object]) -> JsonObject:
        """What became of a capture, once there is more to say than that it came.

        Args:
            capture: Its whole id.
            waiting: Called before each further question. The other side is to hold one for a while; where it answers at once
                instead, the next one comes after ever longer pauses.
        """
        found, pause = self.state(capture), 0.0
        while found.get("state") == "received":
            waiting()
            self._rest(pause)
            asked = time.monotonic()
            found = self.state(capture, wait=_HELD)
            pause = 0.0 if time.monotonic() - asked >= _AT_ONCE else min(max(pause * 2, _FIRST), _LONGEST)
        return found

    def read(self, path: str) -> JsonObject:
        """What the other side answers there."""
        return self._patiently(lambda: self._ask("GET", path, {}, None))

    def read_bytes(self, path: str) -> bytes:
        """The bytes that the other side answers there, as they are."""

        def ask() -> bytes:
            content, status = self._answer("GET", path, {}, None)
            if status != 200:
                _read(content, status=status)
            return content

        return self._patiently(ask)

    def _deliver(self, body: bytes, sent: Sent, digest: bytes) -> JsonObject:
        if len(body) > ASK_ABOVE:
            asked = {"agent": sent.agent, "key": sent.key, "digest": sent.digest, "length": str(len(body))}
            found = self._ask("GET", f"/v1/captures/check?{urlencode(asked)}", {}, None)
            if "capture" in found:
                return found
            self._say(f"welcome; sending {len(body)} bytes")
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "content-digest": signing.digest_header(digest),
            "runner-agent": sent.agent,
            "idempotency-key": sent.key,
        }
        return self._ask("POST", "/v1/captures", headers, body)

    def _patiently(self, ask: Callable[[], Answer]) -> Answer:
        """Try again what may pass by itself, ever more slowly."""
        pause = _FIRST
        for left in range(TRIES - 1, -1, -1):
            try:
                return ask()
            except DeliveryError as error:
                wait = max(pause, error.retry_after or 0)
                if not left or not REFUSALS[error.code].again or wait > _LONGEST:
                    raise
                said = error.brief
            except SupervisorUnavailableError as error:
                if not left or error.details == "certificate":
                    raise
                wait, said = pause, error.brief
            self._say(f"{said}; again in {wait:.0f} s")
            self._rest(wait)
            pause = min(pause * 2, _LONGEST)
        raise AssertionError("unreachable")  # pragma: no cover

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> JsonObject:  # noqa: PLR0917
        content, status = self._answer(method, path, headers, body)
        return _read(content, status=status)

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> tuple[bytes, int]:  # noqa: PLR0917
        url = f"{self._to}{path}"
        signed = signing.sign(method, url, headers, key=self._key, nonce=os.urandom(16).hex(), now=time.time())
        try:
            with self._http.stream(method, url, headers=signed, content=body) as answer:
                return _bounded(answer), answer.status_code
        except httpx2.TransportError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> SupervisorUnavailableError:
        text = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY" in text or isinstance(error.__cause__, ssl.SSLCertVerificationError):
            return SupervisorUnavailableError(
                f"cannot trust {self._to}: {text.partition(': ')[2] or text}",
                details="certificate",
                resolution="--ca FILE trusts a certificate you were given; never send to one you cannot explain",
            )
        return SupervisorUnavailableError(
            f"cannot reach {self._to}: {text}", resolution="the same command later sends the same capture, and not a second one"
        )


@contextmanager
def worded(doing: str) -> Iterator[None]:
    """A refusal says what was refused: not everything that is asked of the other side is a capture to deliver."""
    try:
        yield
    except DeliveryError as error:
        error.brief = error.brief.replace(_REFUSED, doing, 1)
        raise


def address(to: str) -> str:
    """An ingress's address as its signature names it.

    Raises:
        UsageError: It is none.
    """
    text = to.rstrip("/")
    if not _URL.fullmatch(text):
        raise UsageError(f"cannot send to {to!r}: it is no address", resolution="such as https://agents.example.org:8443")
    return text.lower()


def _trust(ca: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                f"cannot read --ca {ca}: {error.strerror or 'no PEM certificate'}", resolution="check the path"
            ) from None
    return context


def _bounded(answer: httpx2.Response) -> bytes:
    data = bytearray()
    for chunk in answer.iter_bytes():
        data += chunk
        if len(data) > _MAX_ANSWER:
            raise RunnerError("cannot read the other side's answer: it is too long")
    return bytes(data)


def _read(content: bytes, *, status: int) -> JsonObject:
    try:
        body = as_object(parse_strict(content.decode()))
    except (UnicodeDecodeError, MalformedJsonError, RunnerError):
        if status >= 500:
            raise refused("busy") from None
        raise RunnerError(
            f"cannot read the other side's answer: status {status}, and not ours", resolution="check the address"
        ) from None
    if status == 200:
        return body
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if not isinstance(error, dict) or not isinstance(code, str) or code not in REFUSALS:
        raise RunnerError(f"cannot read the other side's answer: status {status}, and no reason that is known here")
    after, more = error.get("retry_after"), error.get("message")
    detail = more.removeprefix(refused(code).brief).removeprefix(": ")[:300] if isinstance(more, str) else ""
    return _raise(code, detail, after if isinstance(after, int) else None)


def _raise(code: str, more: str, after: int | None) -> JsonObject:
    raise refused(code, more=more if more and not more.startswith("cannot") and code != "refused" else "", retry_after=after)
