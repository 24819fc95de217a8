"""A damaged database put aside, and a new one begun in its place: a person's word each, with no supervisor at work (L7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.errors import UsageError
from runner.settings import Settings
from runner.store import quarantine
from runner.store.offline import place_of
from runner.supervisor.lock import hold


def put_aside(settings: Settings, *, now: float) -> tuple[Path, ...]:
    """Rename the damaged database and its logs; the new names.

    Raises:
        RunnerError: A supervisor runs, the database is no file, or it is not damaged.
    """
    with _alone(settings) as path:
        return quarantine.put_aside(path, now)


def begin_anew(settings: Settings) -> Path:
    """Make an empty database where a damaged one was put aside; its path.

    Raises:
        RunnerError: A supervisor runs, the database is no file, it is there, or none was put aside.
    """
    with _alone(settings) as path:
        quarantine.begin_anew(path)
        return path


@contextmanager
def _alone(settings: Settings) -> Iterator[Path]:
    path = place_of(settings.database_url.get_secret_value())
    if not isinstance(path, Path):
        raise UsageError(
            "cannot put the database aside: it is not a file", resolution="PostgreSQL has its own tools for damage and backups"
        )
    if not settings.state_dir.is_dir():
        raise UsageError("cannot put the database aside: no supervisor was ever started here")
    with hold(settings.state_dir):
        yield path
