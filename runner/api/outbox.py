"""What a sender's own machine remembers of what it sent: the key of a capture that may have arrived, and every receipt.

The key is on the disk before the first byte leaves, so that a command that is run again after a crash sends the same capture
and not a second one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from runner.errors import UsageError
from runner.settings import private_directory

FOLDER = "sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One capture on its way, or arrived: `capture` is its id at the other side."""

    to: str
    agent: str
    fingerprint: str
    digest: str
    key: str
    key_file: str
    capture: str | None = None
    sent: float | None = None


class Outbox:
    """The folder of a sender.

    Args:
        state_dir: Where this machine keeps state.
        entropy: Gives that many unpredictable bytes.
    """

    def __init__(self, state_dir: Path, *, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._folder = private_directory(state_dir) / FOLDER
        private_directory(self._folder)
        self._entropy = entropy

    def begin(self, *, to: str, agent: str, fingerprint: str, digest: str, key_file: str) -> Sent:
        """The capture that is about to be sent: the one that was begun before and has no receipt yet, else a new one."""
        path = self._folder / f"{_name(to, fingerprint, digest)}.json"
        before = _read(path)
        if before is not None:
            return before
        made = Sent(to=to, agent=agent, fingerprint=fingerprint, digest=digest, key=self._entropy(16).hex(), key_file=key_file)
        self._write(path, made)
        return made

    def arrived(self, sent: Sent) -> None:
        """Keep a receipt; the same bytes sent again are another capture from now on."""
        self._write(self._folder / f"{sent.capture}.json", sent)
        self.drop(sent)

    def drop(self, sent: Sent) -> None:
        """It was refused for good."""
        (self._folder / f"{_name(sent.to, sent.fingerprint, sent.digest)}.json").unlink(missing_ok=True)

    def receipt(self, capture: str) -> Sent | None:
        """The receipt of a capture by its id, if this machine sent it."""
        return _read(self._folder / f"{capture}.json") if capture.replace("_", "").isalnum() else None

    def _write(self, path: Path, sent: Sent) -> None:
        try:
            handle, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(sent), file)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError as error:
            raise UsageError(
                f"cannot keep a record of what is sent: {path}: {error.strerror}", resolution="make room"
            ) from None


def _name(to: str, fingerprint: str, digest: str) -> str:
    return hashlib.sha256(json.dumps([to, fingerprint, digest]).encode()).hexdigest()[:32]


def _read(path: Path) -> Sent | None:
    try:
        return Sent(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, TypeError, ValueError):
        raise UsageError(f"cannot read {path}: it is damaged", resolution=f"remove it: rm {path}") from None
