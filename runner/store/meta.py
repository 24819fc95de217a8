"""Single values the supervisor keeps: text under a key."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from runner.store import schema


def get(conn: Connection, key: str) -> str | None:
    """The value under `key`, None where nothing was ever put."""
    return conn.execute(select(schema.meta.c.value).where(schema.meta.c.key == key)).scalar_one_or_none()


def put(conn: Connection, key: str, value: str) -> None:
    """Set the value under `key`."""
    changed = conn.execute(update(schema.meta).where(schema.meta.c.key == key).values(value=value))
    if changed.rowcount == 0:
        conn.execute(schema.meta.insert().values(key=key, value=value))
