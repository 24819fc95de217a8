"""Public keys of contacts: checked before they are trusted, and shown as a fingerprint beside a petname (S1). Pure.

Owns what makes a key fit to identify somebody. A key under which anybody's signature verifies is no key.
"""

from __future__ import annotations

import base64

from runner.captures import ed25519
from runner.captures.ed25519 import PREFIX, KeyUnusableError

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
#: y of the points of order 8; with -1, 0 and 1 all points that a forger needs no private key for.
_EIGHTH = 2707385501144840649318225287225658788936804267575313519463743609750303021540
_SMALL_ORDER = frozenset({0, 1, _P - 1, _EIGHTH, _P - _EIGHTH})


def checked(public: str) -> str:
    """A public key that identifies whoever has its private half.

    Raises:
        KeyUnusableError: No key, no point of the curve, or one of the few under which anybody can sign.
    """
    text = public.strip()
    ed25519.fingerprint(text)
    raw = base64.urlsafe_b64decode(text.removeprefix(PREFIX) + "=")
    y = int.from_bytes(raw, "little") & (1 << 255) - 1
    if y >= _P or not _on_curve(y):
        raise KeyUnusableError("it is no point of the curve")
    if y in _SMALL_ORDER:
        raise KeyUnusableError("anybody can sign under this key")
    return text


def shown(public: str) -> str:
    """`xxxx-xxxx-xxxx-xxxx`: 80 bits of a hash over the key, as people compare it and as it names the key in a request."""
    text = ed25519.fingerprint(public)
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))


def _on_curve(y: int) -> bool:
    """Whether x² = (y² - 1) / (d·y² + 1) has a root."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return square == 0 or pow(square, (_P - 1) // 2, _P) == 1
