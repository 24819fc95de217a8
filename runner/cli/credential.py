"""The approver's key on the person's side: where it is, and how it is unlocked (W2).

Owns the options `--key` and `--passphrase-fd`. A passphrase comes from the terminal itself or from a file descriptor, never
from an argument or the environment.
"""

from __future__ import annotations

import functools
import getpass
import inspect
import os
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from runner.errors import NotAllowedError, SettingsError, UsageError
from runner.model import JsonObject
from runner.settings import config_file, read_private

if TYPE_CHECKING:
    from runner.captures.ed25519 import SecretKey

KEY_FILE = "approver.key"
_MAX_PASSPHRASE = 1024

KeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        envvar="RUNNER_APPROVER_KEY",
        help="The approver's key, where the supervisor asks for one. Else approver.key beside config.toml.",
    ),
]
PassphraseOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--passphrase-fd", metavar="N", help="Read the key's passphrase from this file descriptor."),
]


@dataclass(slots=True)
class KeySigner:
    """Signs with the key in a file; asks for its passphrase once. Implements `runner.api.credential.Signer`."""

    path: Path
    passphrase_fd: int | None = None
    _key: SecretKey | None = None

    def __call__(self, act: str, body: JsonObject, nonce: str) -> JsonObject:
        """The credential for one request.

        Raises:
            NotAllowedError: There is no key, or it cannot be unlocked.
        """
        from runner.api.credential import sign  # noqa: PLC0415 - most commands sign nothing

        self._key = self._key or self.unlock()
        return sign(self._key, act, body, time=int(time.time()), nonce=nonce)

    def ready(self) -> None:
        """Unlock the key now, for a command that cannot stop to ask later.

        Raises:
            NotAllowedError: As `unlock`.
        """
        self._key = self._key or self.unlock()

    def unlock(self) -> SecretKey:
        """The key in the file.

        Raises:
            NotAllowedError: There is none, others may read it, or the passphrase is wrong or cannot be asked for.
        """
        from runner.captures.ed25519 import KeyUnusableError, is_sealed, unseal  # noqa: PLC0415 - as above

        if not self.path.exists():
            raise NotAllowedError(
                f"cannot sign: there is no key at {self.path}",
                resolution="--key FILE names another; runner approver keygen makes one for the operator to add",
            )
        try:
            pem = read_private(self.path, setting="--key", mask=0o077).encode()
            phrase = ask_passphrase("passphrase of the approver's key: ", self.passphrase_fd) if is_sealed(pem) else None
            return unseal(pem, phrase)
        except (KeyUnusableError, SettingsError) as error:
            hint = error.resolution if isinstance(error, SettingsError) else None
            raise NotAllowedError(f"cannot sign with {self.path}: {error}", resolution=hint or "try again") from None


_CHOSEN: ContextVar[KeySigner | None] = ContextVar("approver_key", default=None)


def chosen_signer() -> KeySigner:
    """The signer of this command: the key it names, else the person's own."""
    return _CHOSEN.get() or KeySigner(Path(os.environ.get("RUNNER_APPROVER_KEY") or default_key()))


def default_key() -> Path:
    """Where a person's key is unless they say otherwise."""
    return config_file().parent / KEY_FILE


def keyed(command: Callable[..., None]) -> Callable[..., None]:
    """The command with `--key` and `--passphrase-fd`, which every request that it signs uses."""

    @functools.wraps(command)
    def called(*args: Any, key: Path | None = None, passphrase_fd: int | None = None, **rest: Any) -> None:
        token = _CHOSEN.set(KeySigner(key or default_key(), passphrase_fd))
        try:
            command(*args, **rest)
        finally:
            _CHOSEN.reset(token)

    signature = inspect.signature(command, eval_str=True)
    added = {"key": KeyOption, "passphrase_fd": PassphraseOption}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in added.items()
    ]
    called.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *options])  # type: ignore[attr-defined]
    called.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()} | added
    return called


def ask_passphrase(question: str, descriptor: int | None) -> bytes:
    """A passphrase, from a file descriptor or typed unseen at the terminal.

    Raises:
        NotAllowedError: There is no terminal to ask on.
        UsageError: The file descriptor cannot be read.
    """
    if descriptor is not None:
        return _read_line(descriptor)
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        raise NotAllowedError(
            "cannot ask for the passphrase: there is no terminal",
            resolution="--passphrase-fd N reads it from a file descriptor: runner approve … --passphrase-fd 3 3</run/secret",
        ) from None
    try:
        return getpass.getpass(question).encode("utf-8", "surrogateescape")
    except EOFError:
        return b""


def _read_line(descriptor: int) -> bytes:
    data = b""
    try:
        while b"\n" not in data and len(data) <= _MAX_PASSPHRASE and (more := os.read(descriptor, _MAX_PASSPHRASE)):
            data += more
    except OSError as error:
        raise UsageError(f"cannot read --passphrase-fd {descriptor}: {error.strerror}") from None
    return data.partition(b"\n")[0][:_MAX_PASSPHRASE]
