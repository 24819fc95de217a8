"""What the API needs of the supervisor: one Protocol, answered in the contract's JSON.

Owns the shape of the seam. Every method may raise any RunnerError; its code becomes the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runner.api.contact_service import Captures, Contacts
from runner.api.forward_service import Forwarding
from runner.api.grant_service import Grants
from runner.api.record_service import Notices, Statistics
from runner.api.reply_service import Replies
from runner.api.share_service import Shares
from runner.api.spending_service import Spending
from runner.api.thread_service import Threads
from runner.api.witness_service import Witness
from runner.approvals import Approver
from runner.model import Capture, JsonObject, Profile, Sender


class Agents(Protocol):
    """The owner's side of agents: profiles, verdicts saved for tools, the default policy."""

    async def profile(self, name: str) -> JsonObject:
        """A published profile as in the list, with `profile` whole and the owner's `choices` for its agent."""
        ...

    async def retire(self, name: str, *, who: Approver) -> JsonObject:
        """Take an agent out of service; the answer is its row."""
        ...

    async def tools(self, agent: str) -> JsonObject:
        """`{"agent", "strict", "policy", …, "tools": [{"name", "class", …, "saved", "verdict", "word"}]}`."""
        ...

    async def save(self, agent: str, tool: str, verdict: str, *, who: Approver) -> JsonObject:
        """Save allow, ask or block for a tool: `{"agent", "tool", "saved", "note", "waiting"}`."""
        ...

    async def reset(self, agent: str, tool: str | None, *, who: Approver) -> JsonObject:
        """Forget what is saved for a tool, or for all: `{"agent", "reset"}`."""
        ...

    async def policy(self) -> JsonObject:
        """`{"policy", "set", "ceiling", "owner_ceiling", "host_ceiling"}`."""
        ...

    async def choose(self, policy: str, ceiling: str | None, *, who: Approver) -> JsonObject:
        """Choose the owner's default; the answer is as of `policy`."""
        ...


class Switch(Protocol):
    """The pause switch."""

    async def pause(self, *, reason: str | None, who: Approver) -> JsonObject:
        """Let nothing new begin: `{"paused": {"since", "by", "reason"}}`."""
        ...

    async def resume(self, *, who: Approver) -> JsonObject:
        """Let work go on: `{"paused": null, "was"}`."""
        ...


class Undos(Protocol):
    """Taking file effects back."""

    async def plan(self, ref: str) -> JsonObject:
        """What it would change: `{"undoes", "tool", "run", "agent", "paths", "summary", "preview", "warnings"}`."""
        ...

    async def undo(self, ref: str, *, who: Approver) -> JsonObject:
        """Take an effect back; the answer is the undo's own approval as it then is."""
        ...


class Queue(Protocol):
    """What is done with waiting calls besides deciding one."""

    async def plan_edit(self, ref: str, text: str, *, who: Approver) -> JsonObject:
        """The approval as it would be with this input in place of the proposed one; nothing is changed."""
        ...

    async def approve_edited(self, ref: str, text: str, *, digest: str, reason: str | None, who: Approver) -> JsonObject:
        """Have this input carried out in place of the proposed one; the answer is the approval as it then is."""
        ...

    async def extend(self, ref: str, *, seconds: float, who: Approver) -> JsonObject:
        """Give a pending call more time; the answer is the approval as it then is."""
        ...

    async def listed(self, snapshot: str) -> JsonObject:
        """What waited on a list that was shown lately: `{"calls": [{"id", "digest"}]}`."""
        ...

    async def approve_all(
        self, calls: Sequence[tuple[str, str]], snapshot: str | None, *, reason: str | None, who: Approver
    ) -> JsonObject:
        """Carry out these (id, digest), or all that waited on a list, or none: `{"approvals"}` as they then are."""
        ...

    async def deny_all(self, calls: Sequence[str], snapshot: str | None, *, reason: str | None, who: Approver) -> JsonObject:
        """Refuse these, or all that waited on a list, or none: `{"approvals"}` as they then are."""
        ...


class Service(Protocol):
    """Everything a person or program can ask of a running supervisor."""

    @property
    def agents(self) -> Agents:
        """The owner's side of agents."""
        ...

    @property
    def notices(self) -> Notices:
        """Telling people that something needs them."""
        ...

    @property
    def statistics(self) -> Statistics:
        """How people decided."""
        ...

    @property
    def switch(self) -> Switch:
        """The pause switch."""
        ...

    @property
    def queue(self) -> Queue:
        """What is done with waiting calls besides deciding one."""
        ...

    @property
    def grants(self) -> Grants:
        """Yeses given beforehand."""
        ...

    @property
    def spending(self) -> Spending:
        """The books."""
        ...

    @property
    def undos(self) -> Undos:
        """Taking file effects back."""
        ...

    @property
    def witness(self) -> Witness:
        """Showings and refusals, on record."""
        ...

    @property
    def contacts(self) -> Contacts:
        """Who may send."""
        ...

    @property
    def captures(self) -> Captures:
        """Captures before any agent sees them."""
        ...

    @property
    def forwarding(self) -> Forwarding:
        """Handing captures on."""
        ...

    @property
    def replies(self) -> Replies:
        """What leaves towards contacts."""
        ...

    @property
    def shares(self) -> Shares:
        """Files handed to contacts."""
        ...

    @property
    def threads(self) -> Threads:
        """Conversations that the owner continues."""
        ...

    async def status(self) -> JsonObject:
        """Version, pid, uptime, engine, image, runs by state, pending approvals, containers, model kind."""
        ...

    async def send(self, capture: Capture, *, sender: Sender) -> JsonObject:
        """Take a capture: `{"capture", "run"}`."""
        ...

    async def runs(self, *, agent: str | None, state: str | None) -> list[JsonObject]:
        """Runs, newest first."""
        ...

    async def run(self, ref: str) -> JsonObject:
        """One run as `run show --json` has it, with version, reason, word, pending approval ids and progress."""
        ...

    async def wait_run(self, ref: str, *, version: int, seconds: float) -> JsonObject:
        """The run as soon as its version is another than `version`, or when the time is up."""
        ...

    async def approvals(self, *, run: str | None, states: list[str] | None, limit: int | None = None) -> JsonObject:
        """`{"snapshot", "approvals", "total"}`: at most `limit` approvals, and how many there are."""
        ...

    async def approval(self, ref: str) -> JsonObject:
        """One approval as `show --json` has it."""
        ...

    async def wait_approval(self, ref: str, *, version: int, seconds: float) -> JsonObject:
        """The approval as soon as its version is another than `version`, or when the time is up."""
        ...

    async def approve(self, ref: str, *, digest: str, reason: str | None, who: Approver, save: str | None = None) -> JsonObject:
        """Carry the call out, and save a verdict for its tool if asked to; the answer is the approval as it then is."""
        ...

    async def deny(self, ref: str, *, reason: str | None, stop: bool, who: Approver, save: str | None = None) -> JsonObject:
        """Refuse the call, and stop its run or save a verdict for its tool if asked to."""
        ...

    async def settle(self, ref: str, *, happened: bool, reason: str | None, who: Approver) -> JsonObject:
        """Say what became of an effect in state unknown; the answer is the approval as it then is."""
        ...

    async def log(self, *, after: int | None, limit: int, seconds: float) -> JsonObject:
        """`{"events", "next"}`: the audit behind place `after`, waiting for something to happen; without it, the newest."""
        ...

    async def stop(self, ref: str, *, who: Approver, reason: str | None) -> JsonObject:
        """End a run; the answer is the run as it then is."""
        ...

    async def resume(self, ref: str) -> JsonObject:
        """Let a failed run go on from its rows; the answer is the run as it then is."""
        ...

    async def publish(self, profile: Profile, *, who: Approver) -> JsonObject:
        """Store a checked profile; the answer is its row."""
        ...

    async def profiles(self) -> list[JsonObject]:
        """Published profiles."""
        ...

    async def find(self, ref: str) -> JsonObject:
        """What an id of any kind names: `{"kind": "approval" | "run" | "capture" | "reply" | "grant" | "share", "id", …}`."""
        ...
