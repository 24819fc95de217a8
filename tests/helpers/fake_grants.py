"""Grants over plain dicts; what was asked goes into the service's `asked`."""

from __future__ import annotations

from runner.approvals import Approver
from runner.errors import NotFoundError
from runner.model import JsonObject
from runner.policy.grants import Wish

GRANT = "g_0123456789abcdef"


def a_grant(**changes: object) -> JsonObject:
    """A grant that lives."""
    row: JsonObject = {
        "id": GRANT,
        "agent": "scribe",
        "tool": "Write",
        "path": "out",
        "match": {"file_path": "out/*.md"},
        "says": "Write of scribe, beneath out, where file_path looks like out/*.md, 5 times at most, within 60 min",
        "state": "live",
        "uses": 5,
        "used": 1,
        "created": 1_800_000_000.0,
        "expires": 9_800_000_000.0,
        "profile_digest": "sha256:" + "1" * 64,
        "granted_by": "uid 0",
        "revoked_by": None,
        "samples": [{"id": "a_0123456789abcdef", "about": "writes out/a.md", "state": "done", "created": 1_700_000_000.0}],
        "samples_total": 1,
    }
    row.update(changes)  # type: ignore[arg-type]
    return row


class FakeGrants:
    """One grant."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked
        self.row = a_grant()

    async def plan(self, wish: Wish, *, who: Approver) -> JsonObject:
        """What it would be."""
        self.asked.append(("plan grant", (wish, who)))
        return self.row | {"id": None}

    async def give(self, wish: Wish, *, who: Approver) -> JsonObject:
        """Remember it."""
        self.asked.append(("grant", (wish, who)))
        return self.row

    async def listed(self, agent: str | None, *, everything: bool) -> JsonObject:
        """The one grant."""
        self.asked.append(("grants", (agent, everything)))
        return {"grants": [self.row]}

    async def grant(self, ref: str) -> JsonObject:
        """The one grant."""
        if not GRANT.startswith(ref):
            raise NotFoundError(f"cannot find grant {ref}: there is none")
        return self.row

    async def revoke(self, ref: str, *, who: Approver) -> JsonObject:
        """It is revoked."""
        self.asked.append(("revoke", (ref, who)))
        self.row |= {"state": "revoked", "revoked_by": "uid 0"}
        return self.row
