"""Telling the supervisor that a person was shown a card: which, where, how much of it (A2)."""

from __future__ import annotations

from collections.abc import Sequence

from runner.api.client import Client, as_object
from runner.digest import digest_bytes
from runner.model import JsonObject
from runner.render.values import text_at


def report_shown(client: Client, record: JsonObject, *, surface: str, parts: Sequence[Sequence[str]]) -> bool:
    """Have it put on record that every part of this card was on a person's screen; whether it was.

    Args:
        client: The supervisor.
        record: An approval or a reply, as `show --json` has it.
        surface: Where it was shown and could be decided: `cli` or `inbox`. `runner show` asks nothing, and reports nothing.
        parts: The lines of each part, as they were shown.

    Raises:
        RunnerError: The supervisor cannot be reached, or knows no such record.
    """
    seen = "\n".join(line for part in parts for line in part).encode("utf-8", "backslashreplace")
    body: JsonObject = {
        "surface": surface,
        "digest": text_at(record, "digest"),
        "parts": len(parts),
        "render_digest": digest_bytes(seen),
    }
    ref = text_at(record, "id")
    answer = as_object(client.post("replies" if ref.startswith("p_") else "approvals", ref, "shown", body=body))
    return answer.get("recorded") is True
