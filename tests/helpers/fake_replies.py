"""Replies and shares over plain dicts, for tests of everything a person or program touches."""

from __future__ import annotations

from runner.approvals import Approver
from runner.errors import DigestMismatchError, NotFoundError
from runner.model import Json, JsonObject

REPLY = "p_0123456789abcdef"
REPLY_DIGEST = "sha256:" + "7" * 64


def a_reply(**changes: Json) -> JsonObject:
    """A reply that waits."""
    reply: JsonObject = {
        "id": REPLY,
        "run": "r_0123456789abcdef",
        "agent": "scribe",
        "sender": "maria ⟨abcd-efgh-2345-6723⟩",
        "state": "held",
        "does": "Send 12 characters to maria ⟨abcd-efgh-2345-6723⟩",
        "why": "not_covered",
        "reason": "Waits for a person's approval: the default policy does not run this tool unasked.",
        "digest": REPLY_DIGEST,
        "warnings": [],
        "created": 1_800_000_000.0,
        "expires": 1_800_600_000.0,
        "text": "It is a bill.",
        "reveals": {"links": []},
        "history": [],
    }
    return reply | changes


class FakeForwarding:
    """Remembers what it was asked."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked

    async def forward(self, ref: str, *, to: str, note: str, who: Approver) -> JsonObject:
        """A run."""
        self._asked.append(("forward", (ref, to, note)))
        return {"capture": "c_0123456789abcdef", "run": "r_0123456789abcdef", "of": ref, "via": ["you"]}


class FakeReplies:
    """Remembers what it was asked."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked
        self.rows: list[JsonObject] = []

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """The rows."""
        self._asked.append(("replies", state))
        return [{key: value for key, value in row.items() if key != "text"} for row in self.rows]

    async def shown(self, ref: str) -> JsonObject:
        """The one."""
        for row in self.rows:
            if str(row["id"]).startswith(ref):
                return row
        raise NotFoundError(f"cannot find reply {ref}: there is none")

    async def approve(self, ref: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Let it go out."""
        row = await self.shown(ref)
        if digest != row["digest"]:
            raise DigestMismatchError(f"cannot release {ref}: the digest is not this reply's")
        self._asked.append(("reply approve", (ref, reason)))
        row["state"] = "released"
        return row

    async def deny(self, ref: str, *, reason: str | None, who: Approver) -> JsonObject:
        """Keep it back."""
        row = await self.shown(ref)
        self._asked.append(("reply deny", (ref, reason)))
        row["state"] = "denied"
        return row
