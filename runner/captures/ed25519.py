"""Ed25519 keys of people: made, sealed with a passphrase, signing, verified. The one door to `cryptography`.

Owns how a key is written: `ed25519:` and 43 characters of base64url. Knows nothing of who has one or what is signed with it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PREFIX = "ed25519:"
#: Cost of a guess at a passphrase: 64 MiB and about a fifth of a second.
_SCRYPT_N, _SCRYPT_R = 2**16, 8
_HEADER = re.compile(rb"runner-key scrypt n=(\d{1,8}) r=(\d{1,3}) salt=([0-9a-f]{32})\n")


class KeyUnusableError(ValueError):
    """A key or passphrase that cannot be used; the message says why."""


class SecretKey:
    """A private key. Its bytes leave only sealed, as PEM."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"SecretKey({fingerprint(self.public)})"

    @property
    def public(self) -> str:
        """The public key as text."""
        raw = self._key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return PREFIX + _text(raw)

    def sign(self, message: bytes) -> str:
        """A signature over `message`, as text."""
        return _text(self._key.sign(message))

    def sealed(self, passphrase: bytes | None) -> bytes:
        """PKCS 8 as PEM, encrypted with what scrypt makes of the passphrase; None: not encrypted.

        The format's own derivation is cheap to guess at, so a line before it says how its passphrase comes from the person's.
        """
        if not passphrase:
            return self._pem(serialization.NoEncryption())
        salt = os.urandom(16)
        header = f"runner-key scrypt n={_SCRYPT_N} r={_SCRYPT_R} salt={salt.hex()}\n".encode()
        stretched = _stretched(passphrase, n=_SCRYPT_N, r=_SCRYPT_R, salt=salt)
        return header + self._pem(serialization.BestAvailableEncryption(stretched))

    def _pem(self, how: serialization.KeySerializationEncryption) -> bytes:
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


def make() -> SecretKey:
    """A new key, from the system's randomness."""
    return SecretKey(Ed25519PrivateKey.generate())


def is_sealed(pem: bytes) -> bool:
    """Whether a passphrase is needed to use the key in this PEM."""
    return b"ENCRYPTED PRIVATE KEY" in pem


def unseal(pem: bytes, passphrase: bytes | None) -> SecretKey:
    """The key in a PEM that `sealed` wrote.

    Raises:
        KeyUnusableError: No key, of another kind, or the passphrase is wrong or missing.
    """
    header = _HEADER.match(pem)
    if passphrase and header is not None:
        passphrase = _stretched(passphrase, n=int(header[1]), r=int(header[2]), salt=bytes.fromhex(header[3].decode()))
    try:
        key = serialization.load_pem_private_key(pem, passphrase or None)
    except TypeError:
        raise KeyUnusableError("it needs a passphrase" if is_sealed(pem) else "it has no passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyUnusableError("the passphrase is wrong" if is_sealed(pem) else "it holds no private key") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyUnusableError("it is no Ed25519 key")
    return SecretKey(key)


def verify(public: str, signature: str, message: bytes) -> bool:
    """Whether `signature` was made over `message` with the private half of `public`; whatever cannot be read was not."""
    try:
        Ed25519PublicKey.from_public_bytes(_raw(public)).verify(_bytes(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public: str) -> str:
    """Sixteen characters that name a public key to a person.

    Raises:
        KeyUnusableError: It is no public key.
    """
    digest = hashlib.sha256(b"runner.key.v1\0" + _raw(public)).digest()
    return base64.b32encode(digest[:10]).decode().lower()


def _stretched(passphrase: bytes, *, n: int, r: int, salt: bytes) -> bytes:
    if n > _SCRYPT_N or r > _SCRYPT_R:
        raise KeyUnusableError("its scrypt figures are beyond what this version uses")
    try:
        made = hashlib.scrypt(passphrase, salt=salt, n=n, r=r, p=1, maxmem=2 * 128 * n * r, dklen=32)
    except ValueError:
        raise KeyUnusableError("its scrypt figures are none") from None
    return made.hex().encode()


def _raw(public: str) -> bytes:
    if not public.startswith(PREFIX):
        raise KeyUnusableError(f"a public key starts with {PREFIX}")
    raw = _bytes(public.removeprefix(PREFIX))
    if len(raw) != 32 or PREFIX + _text(raw) != public:
        raise KeyUnusableError("a public key is 32 bytes in base64url without =")
    return raw


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise KeyUnusableError("not base64url") from None
