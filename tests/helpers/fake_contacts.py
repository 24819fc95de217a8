"""Contacts and waiting captures over plain dicts, for tests of everything a person or program touches."""

from __future__ import annotations

from runner.approvals import Approver
from runner.errors import NotFoundError
from runner.model import Capture, JsonObject

CONTACT: JsonObject = {
    "petname": "maria",
    "fingerprint": "abcd-efgh-2345-6723",
    "kind": "person",
    "trust": "trusted",
    "blocked": None,
    "created": 1_800_000_000.0,
    "sender": "maria ⟨abcd-efgh-2345-6723⟩",
    "key": "ed25519:x",
    "agents": ["scribe"],
    "waiting": [],
}
STUB: JsonObject = {
    "id": "c_0123456789abcdef",
    "agent": "scribe",
    "sender": "maria ⟨abcd-efgh-2345-6723⟩",
    "state": "stub",
    "size": 2048,
    "created": 1_800_000_000.0,
}


class FakeContacts:
    """Remembers what it was asked."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked
        self.rows = [CONTACT]

    async def add(self, petname: str, key: str, *, kind: str, verified: bool, who: Approver) -> JsonObject:
        """Take it."""
        self._asked.append(("contact add", (petname, key, kind, verified)))
        return {**CONTACT, "petname": petname, "agents": []}

    async def listed(self) -> list[JsonObject]:
        """The rows."""
        return self.rows

    async def shown(self, petname: str) -> JsonObject:
        """The one contact."""
        return self._known(petname)

    async def rename(self, petname: str, to: str, *, who: Approver) -> JsonObject:
        """Another name."""
        self._asked.append(("contact rename", (petname, to)))
        return {**self._known(petname), "petname": to, "before": petname, "lost": ["scribe"]}

    async def block(self, petname: str, *, blocked: bool, who: Approver) -> JsonObject:
        """Blocked or not."""
        self._asked.append(("contact block", (petname, blocked)))
        return {**self._known(petname), "blocked": 1.0 if blocked else None, "cancelled": ["r_0123456789abcdef"]}

    async def verify(self, petname: str, *, verified: bool, who: Approver) -> JsonObject:
        """Verified or not."""
        self._asked.append(("contact verify", (petname, verified)))
        return self._known(petname)

    async def remove(self, petname: str, *, who: Approver) -> JsonObject:
        """Gone."""
        self._asked.append(("contact remove", petname))
        return {**self._known(petname), "closed": ["c_0123456789abcdef"]}

    async def send_as(self, petname: str, capture: Capture) -> JsonObject:
        """Take it."""
        self._known(petname)
        self._asked.append(("send as", (petname, capture)))
        return {"capture": "c_0123456789abcdef", "run": None, "state": "stub"}

    def _known(self, petname: str) -> JsonObject:
        if petname != CONTACT["petname"]:
            raise NotFoundError(f"cannot find contact {petname!r}: there is none")
        return CONTACT


class FakeCaptures:
    """Remembers what it was asked."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self._asked = asked
        self.rows: list[JsonObject] = []
        self.images: list[JsonObject] = []

    async def pictures(self, ref: str) -> list[JsonObject]:
        """The pictures."""
        self._asked.append(("pictures", ref))
        return self.images

    async def listed(self, *, state: str | None) -> list[JsonObject]:
        """The rows."""
        self._asked.append(("captures", state))
        return self.rows

    async def accept(self, ref: str, *, who: Approver) -> JsonObject:
        """A run."""
        return self._done("accept", ref, run="r_0123456789abcdef", state="delivered")

    async def start(self, ref: str, *, who: Approver) -> JsonObject:
        """A run."""
        return self._done("start", ref, run="r_0123456789abcdef", state="delivered")

    async def dismiss(self, ref: str, *, who: Approver) -> JsonObject:
        """Closed."""
        return self._done("dismiss", ref, run=None, state="closed")

    def _done(self, what: str, ref: str, *, run: str | None, state: str) -> JsonObject:
        self._asked.append((what, ref))
        return {"capture": str(STUB["id"]), "run": run, "state": state}
