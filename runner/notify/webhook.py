"""The signed outgoing webhook (C4): who gets it can tell that it is ours, unchanged, and no replay.

The signature covers version, time, key and body. Time is taken anew at each try; key and body stay. docs/notices.md has
the recipe.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import httpx2

from runner.notify.sending import Undelivered
from runner.notify.words import Message

#: Of the signature's scheme, and part of what is signed.
VERSION = "v1"
#: Seconds without a sign of life; the whole try has a deadline besides.
_SILENCE = 10.0


class Webhook:
    """An HTTP endpoint of the operator's.

    Args:
        url: Where to post.
        secret: Shared with whoever is there; never logged, never shown.
        clock: Epoch seconds.
    """

    name = "webhook"

    def __init__(self, url: str, *, secret: str, clock: Callable[[], float]) -> None:
        self._url = url
        self._secret = secret.encode()
        self._clock = clock

    def send(self, message: Message) -> None:
        """Post it once.

        Raises:
            Undelivered: It was not taken with a 2xx.
        """
        stamp = str(int(self._clock()))
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": message.key,
            "Runner-Timestamp": stamp,
            "Runner-Signature": f"{VERSION}={signature(self._secret, stamp=stamp, key=message.key, body=message.body)}",
        }
        try:
            with (
                httpx2.Client(timeout=_SILENCE, follow_redirects=False, trust_env=False) as http,
                http.stream("POST", self._url, content=message.body, headers=headers) as answer,
            ):
                status = answer.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Undelivered(type(error).__name__) from None
        if not 200 <= status < 300:
            raise Undelivered(f"it answered {status}")


def signature(secret: bytes, *, stamp: str, key: str, body: bytes) -> str:
    """HMAC-SHA256 as hex."""
    signed = b".".join((VERSION.encode(), stamp.encode(), key.encode(), body))
    return hmac.new(secret, signed, hashlib.sha256).hexdigest()
