"""What `runner doctor` says about the channels of notices, as the supervisor that runs tells it. Pure (C4)."""

from __future__ import annotations

from collections.abc import Iterator

from runner.digest import objects
from runner.model import JsonObject
from runner.supervisor.health import Check, Level

_FIX = "runner notify test tries every channel; put the URL in [notify] right, runner down, runner up"


def channel_checks(status: JsonObject | None) -> Iterator[Check]:
    """A check for each channel; one note where there is none. Nothing where no supervisor answers.

    Args:
        status: What the supervisor says of itself.
    """
    said = status.get("notices") if status is not None else None
    if not isinstance(said, dict):
        return
    channels = said.get("channels")
    found = objects(channels)
    if not found:
        yield Check(name="notices", level=Level.FINE, found="no channel is set up: nobody is told that something waits")
    for one in found:
        yield _channel(one)


def _channel(one: JsonObject) -> Check:
    name, waiting, dead, error = f"notices to {one.get('name')}", one.get("waiting"), one.get("dead"), one.get("error")
    if isinstance(dead, int) and dead > 0:
        found = f"{dead} given up lately, {waiting} on their way: {error or 'since then it took one'}"
        return Check(name=name, level=Level.WRONG, found=found, fix=_FIX)
    if error:
        return Check(name=name, level=Level.NOTE, found=f"{waiting} on their way; the last try failed: {error}", fix=_FIX)
    return Check(name=name, level=Level.FINE, found=f"{waiting} on their way, none given up")
