"""Reading the supervisor's JSON for display: a missing or odd field shows as nothing, never as a crash.

Owns times, ages and names as people are shown them. Pure; the clock is an argument.
"""

from __future__ import annotations

from datetime import UTC, datetime

from runner.model import SERVER, Json, JsonObject


def text_at(record: JsonObject, key: str) -> str:
    """The field as text; absent, null and "" are all ""."""
    value = record.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


def objects_at(record: JsonObject, key: str) -> list[JsonObject]:
    """The objects of a list field."""
    value = record.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_at(record: JsonObject, key: str) -> list[str]:
    """The texts of a list field."""
    value = record.get(key)
    return [item if isinstance(item, str) else str(item) for item in value] if isinstance(value, list) else []


def moment(value: Json) -> datetime | None:
    """A time from ISO 8601 text or seconds since the epoch; None for anything else."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def age(value: Json, *, now: datetime) -> str:
    """How long ago, or in how long: `3 min ago`, `in 6 d`; "" without a time."""
    when = moment(value)
    if when is None:
        return ""
    seconds = (when - now).total_seconds()
    span = duration(abs(seconds))
    return f"in {span}" if seconds > 0 else f"{span} ago"


def duration(seconds: float) -> str:
    """Seconds in the largest unit that leaves a number people can picture."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{int(seconds)} s"


def size(number: float) -> str:
    """Bytes as KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def signed(record: JsonObject) -> str:
    """`1 of 2 signatures`, of an approval that needs more than one; nothing of others (D5)."""
    found = record.get("signatures")
    if not isinstance(found, dict):
        return ""
    names = [text_at(one, "name") or text_at(one, "key_id") for one in objects_at(found, "given")]
    by = f" (by {', '.join(names)})" if names else ""
    return f"{len(names)} of {text_at(found, 'required')} signatures{by}"


def tool_name(name: str) -> str:
    """A tool as people read it: a connector's tool apart from its server, ours without the prefix (V10)."""
    parts = name.split("__", 2)
    if len(parts) == 3 and parts[0] == "mcp":
        return parts[2] if parts[1] == SERVER else f"{parts[2]} (connector {parts[1]})"
    return name
