"""Shares over plain dicts, for tests of everything a person or program touches."""

from __future__ import annotations

from collections.abc import Sequence

from runner.approvals import Approver
from runner.errors import NotFoundError
from runner.model import Json, JsonObject

SHARE = "s_0123456789abcdef"
SHARE_DIGEST = "sha256:" + "8" * 64


def a_share(**changes: Json) -> JsonObject:
    """A share that was fetched once."""
    share: JsonObject = {
        "id": SHARE,
        "to": "maria",
        "sender": "maria ⟨abcd-efgh-2345-6723⟩",
        "state": "fetched",
        "note": "as promised",
        "files": [
            {
                "n": 1,
                "name": "report.txt",
                "kind": "text",
                "size": 2048,
                "digest": "sha256:" + "9" * 64,
                "fetches": 1,
                "fetched": 1_800_000_100.0,
            }
        ],
        "bytes": 2048,
        "warnings": [],
        "digest": SHARE_DIGEST,
        "created": 1_800_000_000.0,
        "expires": 1_800_600_000.0,
        "ended": None,
        "fetched": 1_800_000_100.0,
        "history": [],
    }
    return share | changes


class FakeShares:
    """Remembers what it was asked."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked
        self.rows: list[JsonObject] = []

    async def plan(self, petname: str, files: Sequence[tuple[str, bytes]], *, note: str, seconds: float | None) -> JsonObject:
        """What would leave."""
        self._asked.append(("share plan", (petname, tuple(name for name, _ in files), note, seconds)))
        found: list[Json] = [{"name": name, "kind": "text", "size": len(data), "digest": SHARE_DIGEST} for name, data in files]
        return {"to": petname, "sender": petname, "files": found, "warnings": [], "digest": SHARE_DIGEST, "seconds": 1.0}

    async def share(self, digest: str, *, who: Approver) -> JsonObject:
        """Take it."""
        self._asked.append(("share", digest))
        return a_share()

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """The rows."""
        self._asked.append(("shares", state))
        return self.rows

    async def shown(self, ref: str) -> JsonObject:
        """The one."""
        for row in self.rows:
            if str(row["id"]).startswith(ref):
                return row
        raise NotFoundError(f"cannot find share {ref}: there is none")

    async def withdraw(self, ref: str, *, reason: str | None, who: Approver) -> JsonObject:
        """Take it back."""
        self._asked.append(("share withdraw", (ref, reason)))
        return a_share(state="withdrawn", ended=1_800_000_200.0)
