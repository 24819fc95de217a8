"""The owner's side of agents over plain dicts; what was asked goes into the service's `asked`."""

from __future__ import annotations

from runner.approvals import Approver
from runner.errors import NotFoundError
from runner.model import JsonObject


class FakeAgents:
    """One agent, scribe, with a tool Write."""

    def __init__(self, asked: list[tuple[str, object]]) -> None:
        self.asked = asked
        self.profile_row: JsonObject = {"name": "scribe", "profile": {}, "choices": {"saved": {}}}
        self.policy_row: JsonObject = {
            "policy": "ask",
            "set": False,
            "ceiling": "skip",
            "owner_ceiling": None,
            "host_ceiling": "skip",
        }
        self.note = ""
        self.tool_row: JsonObject = {
            "name": "Write",
            "class": "write",
            "reversible": False,
            "returns_untrusted": False,
            "egress": False,
            "saved": None,
            "set_by": None,
            "set_at": None,
            "verdict": "ask",
            "word": "strict",
        }

    async def profile(self, name: str) -> JsonObject:
        """The one profile."""
        self._known(name)
        return self.profile_row

    async def retire(self, name: str, *, who: Approver) -> JsonObject:
        """Remember it."""
        self._known(name)
        self.asked.append(("retire", (name, who)))
        return {"name": name}

    async def tools(self, agent: str) -> JsonObject:
        """The one tool."""
        self._known(agent)
        return {"agent": agent, "strict": True, **self.policy_row, "tools": [self.tool_row]}

    async def save(self, agent: str, tool: str, verdict: str, *, who: Approver) -> JsonObject:
        """Remember it."""
        self._known(agent)
        self.asked.append(("save", (agent, tool, verdict, who)))
        return {"agent": agent, "tool": tool, "saved": verdict, "note": self.note, "waiting": []}

    async def reset(self, agent: str, tool: str | None, *, who: Approver) -> JsonObject:
        """Remember it."""
        self._known(agent)
        self.asked.append(("reset", (agent, tool, who)))
        return {"agent": agent, "reset": [tool or "Write"]}

    async def policy(self) -> JsonObject:
        """The row."""
        return self.policy_row

    async def choose(self, policy: str, ceiling: str | None, *, who: Approver) -> JsonObject:
        """Remember it."""
        self.asked.append(("choose", (policy, ceiling, who)))
        self.policy_row |= {"policy": policy, "set": True, "owner_ceiling": ceiling, "ceiling": ceiling or "skip"}
        return self.policy_row

    def _known(self, name: str) -> None:
        if name != "scribe":
            raise NotFoundError(f"cannot find agent {name!r}: no profile is published under this name")
