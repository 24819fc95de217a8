"""What an effect is called: one line for a person beforehand, the outcome for the model afterwards. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from runner.broker.targets import Target, shown
from runner.broker.values import FOLDER, MAX_OUTCOME_BYTES, Effect, Folder, Result


def summary(path: PurePosixPath, target: Target, result: Result) -> str:
    """What would be done."""
    name, old, new = shown(path), target.data, result.data
    if isinstance(new, Folder):
        return f"make the directory {name}"
    if new is None:
        return f"remove {'the directory ' if old is FOLDER else ''}{name}"
    was = len(old) if isinstance(old, bytes) else 0
    if result.did:
        return f"edit {name}: {result.did} ({was} bytes become {len(new)})"
    if result.replacements:
        places = "1 replacement" if result.replacements == 1 else f"{result.replacements} replacements"
        return f"edit {name}: {places} ({was} bytes become {len(new)})"
    return f"write {len(new)} bytes to {name} ({'new file' if old is None else f'replaces {was} bytes'})"


def told(path: PurePosixPath, target: Target, result: Result) -> str:
    """What has been done."""
    name, old, new = shown(path), target.data, result.data
    if isinstance(new, Folder):
        return cut(f"Created the directory {name}.")
    if new is None:
        return cut(f"Removed {'the directory ' if old is FOLDER else ''}{name}.")
    if result.did:
        return cut(f"Edited {name}: {result.did}; the file is now {len(new)} bytes.")
    if result.replacements:
        places = "1 place" if result.replacements == 1 else f"{result.replacements} places"
        return cut(f"Edited {name}: {places} replaced; the file is now {len(new)} bytes.")
    return cut(f"{'Created' if old is None else 'Replaced'} {name}: {len(new)} bytes written.")


def nothing_done(state: Literal["failed", "stale"], reason: str) -> Effect:
    """The end of an order that changed nothing."""
    return Effect(state=state, outcome=cut(f"Nothing was changed: {reason}."))


def cut(text: str) -> str:
    """An outcome as every reader keeps it: at most `MAX_OUTCOME_BYTES`, a cut noted."""
    data = text.encode(errors="replace")
    if len(data) <= MAX_OUTCOME_BYTES:
        return text
    note = f"\n[cut off: {len(data)} bytes in all]"
    return data[: MAX_OUTCOME_BYTES - len(note)].decode(errors="ignore") + note
