"""The owner's side of agents: publish and retire profiles, save verdicts for tools, choose the default policy.

Every change is one transaction with who made it in the audit; running runs meet it at their next call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from runner.approvals import Approver
from runner.errors import NotAllowedError, NotFoundError, ProfileError, UsageError
from runner.lifecycle import ApprovalState
from runner.model import Json, JsonObject, Policy, Profile, SenderKind
from runner.policy import PolicyContext, SavedVerdict, explain_matrix
from runner.policy.judge import find_tool
from runner.policy.matrix import Column
from runner.profiles import to_json
from runner.profiles.examples import EmptyDirectory
from runner.profiles.findings import shared
from runner.sandbox.view import holds_anything
from runner.store import ApprovalRow, Choices, Connection, ProfileRow, Store, VerdictRow, choices, profiles, verdicts
from runner.store import approvals as rows
from runner.supervisor.floors import Floors
from runner.supervisor.intent import Also
from runner.supervisor.parsing import parsed
from runner.supervisor.progress import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """Implements `runner.api.service.Agents`."""

    store: Store
    clock: Clock
    floors: Floors

    @property
    def ceiling(self) -> Policy:
        """This host's, on every policy."""
        return self.floors.ceiling

    async def profile(self, name: str) -> JsonObject:
        """A published profile, whole, with the owner's choices for its agent."""
        return await self.store.query(self._profile, name)

    async def retire(self, name: str, *, who: Approver) -> JsonObject:
        """Take an agent out of service; what was saved for it goes with it."""
        return await self.store.call(self._retire, name, who)

    async def tools(self, agent: str) -> JsonObject:
        """The agent's tools: what they are, what is saved, what an owner's run is answered."""
        return await self.store.query(self._tools, agent)

    async def save(self, agent: str, tool: str, verdict: str, *, who: Approver) -> JsonObject:
        """Save a verdict for one tool."""
        word = _word(verdict)
        return await self.store.call(self._save, agent, tool, word, who)

    async def reset(self, agent: str, tool: str | None, *, who: Approver) -> JsonObject:
        """Forget the verdict of one tool, or of all."""
        return await self.store.call(self._reset, agent, tool, who)

    async def policy(self) -> JsonObject:
        """The owner's default policy and the ceilings on it."""
        return self._shown(await self.store.query(choices.of_agent, ""))

    async def choose(self, policy: str, ceiling: str | None, *, who: Approver) -> JsonObject:
        """Choose the owner's default, and a ceiling where one is given."""
        for word in (policy, *([ceiling] if ceiling is not None else [])):
            if word not in {known.value for known in Policy}:
                raise UsageError(f"cannot choose {word!r}: a policy is ask, read_only or skip")
        await self.store.call(choices.set_policy, policy=policy, ceiling=ceiling, who=who, now=self.clock())
        return await self.policy()

    def with_decision(self, verdict: str, *, who: Approver) -> Also:
        """What saves a verdict in the transaction of a decision about a call (R144).

        Raises:
            UsageError: No verdict has this name.
        """
        word = _word(verdict)

        def also(conn: Connection, row: ApprovalRow) -> None:
            if word is SavedVerdict.ALLOW and row.sender.kind is not SenderKind.OWNER:
                raise NotAllowedError(
                    f"cannot save allow for {row.tool} with a contact's call: it would only loosen your own runs",
                    resolution=f"runner tools set {row.agent} {row.tool} allow, if that is meant",
                )
            if word is not SavedVerdict.BLOCK:
                _need(_current(conn, row.agent), row.tool)
            self._put(conn, row.agent, row.tool, word, who)

        return also

    async def said(self, agent: str, tool: str, verdict: str | None) -> JsonObject:
        """What to say of a verdict that was saved with a decision; nothing where none was."""
        if verdict is None:
            return {}
        return await self.store.query(self._said, agent, tool, _word(verdict))

    def _said(self, conn: Connection, agent: str, tool: str, word: SavedVerdict) -> JsonObject:  # noqa: PLR0917
        try:
            return self._note(conn, _current(conn, agent), tool, word)
        except NotFoundError:
            return {"saved": word.value, "note": f"{agent} is retired: it binds the runs under way", "waiting": []}

    def _profile(self, conn: Connection, name: str) -> JsonObject:
        row = profiles.current(conn, name)
        chosen = choices.of_agent(conn, name)
        line = profile_line(row)
        words: JsonObject = {"saved": dict(chosen.saved), "policy": chosen.policy, "ceiling": chosen.ceiling}
        return {**line, "profile": json.loads(row.text), "choices": words}

    def _retire(self, conn: Connection, name: str, who: Approver) -> JsonObject:
        row = profiles.retire(conn, name, who=who, now=self.clock())
        verdicts.follow(conn, name, before=parsed(row).tools, after=(), who=who, now=self.clock())
        return profile_line(row)

    def _tools(self, conn: Connection, agent: str) -> JsonObject:
        profile, chosen = _current(conn, agent), choices.of_agent(conn, agent)
        profile = replace(profile, strict=profile.strict or self.floors.strict)
        context = chosen.into(PolicyContext(view=EmptyDirectory(), sensitive=holds_anything(profile.cwd)), host=self.ceiling)
        saved = {row.tool: row for row in verdicts.of_agent(conn, agent)}
        cells = {cell.tool: cell for cell in explain_matrix(profile, context) if cell.column is Column.TAINTED}
        shown: list[Json] = [
            {
                **find_tool(name, context).metadata(),
                **_saved(saved.get(name)),
                "verdict": cells[name].verdict.value,
                "word": cells[name].word,
            }
            for name in profile.tools
        ]
        return {"agent": agent, "strict": profile.strict, **self._shown(chosen), "tools": shown}

    def _save(self, conn: Connection, agent: str, tool: str, word: SavedVerdict, who: Approver) -> JsonObject:  # noqa: PLR0917
        profile = _current(conn, agent)
        _need(profile, tool)
        self._put(conn, agent, tool, word, who)
        return {"agent": agent, "tool": tool, **self._note(conn, profile, tool, word)}

    def _put(self, conn: Connection, agent: str, tool: str, word: SavedVerdict, who: Approver) -> None:  # noqa: PLR0917
        verdicts.put(conn, VerdictRow(agent=agent, tool=tool, verdict=word.value, set_by=who, set_at=self.clock()))

    def _note(self, conn: Connection, profile: Profile, tool: str, word: SavedVerdict) -> JsonObject:  # noqa: PLR0917
        """The verdict as it was saved, and what a person may not expect of it."""
        waiting = [
            row.id for row in rows.list(conn, states={ApprovalState.PENDING}) if (row.agent, row.tool) == (profile.name, tool)
        ]
        note = ""
        if word is SavedVerdict.ALLOW and profile.strict:
            note = f"{profile.name} is strict, so calls of {tool} still wait; it counts once strict is off"
        elif word is SavedVerdict.BLOCK and waiting:
            note = f"{len(waiting)} call(s) of it wait and can no longer be approved; runner deny tells the agent"
        return {"saved": word.value, "note": note, "waiting": [*waiting]}

    def _reset(self, conn: Connection, agent: str, tool: str | None, who: Approver) -> JsonObject:  # noqa: PLR0917
        profile = _current(conn, agent)
        if tool is not None:
            _need(profile, tool)
        gone = verdicts.reset(conn, agent, tool=tool, who=who, now=self.clock())
        return {"agent": agent, "reset": [*gone]}

    def _shown(self, chosen: Choices) -> JsonObject:
        return {
            "policy": chosen.owner_policy.value,
            "set": chosen.policy is not None,
            "ceiling": chosen.max_policy(self.ceiling).value,
            "owner_ceiling": chosen.ceiling,
            "host_ceiling": self.ceiling.value,
        }


def publish(conn: Connection, profile: Profile, now: float, *, by: Approver | None = None) -> JsonObject:
    """Store a profile by its digest, make it current, and let saved verdicts follow its tools.

    Raises:
        ProfileError: Its directory is another agent's too (R62, G5).
    """
    others = [parsed(row) for row in profiles.all(conn) if row.retired is None]
    if (reason := next(shared(profile, others), None)) is not None:
        raise ProfileError(
            f"cannot publish {profile.name}: cwd: {reason}",
            resolution="name a directory of its own in cwd, or retire the other agent",
        )
    before = next((parsed(row).tools for row in profiles.all(conn) if row.name == profile.name), ())
    row = profiles.put(conn, json.dumps(to_json(profile)), digest=profile.digest, name=profile.name, now=now, who=by)
    gone = verdicts.follow(conn, profile.name, before=before, after=profile.tools, who=by, now=now)
    return {**profile_line(row), "forgotten": [*gone]}


def profile_line(row: ProfileRow) -> JsonObject:
    """A published profile in a list."""
    profile = parsed(row)
    return {
        "name": profile.name,
        "digest": row.digest,
        "description": profile.description,
        "model": profile.model,
        "tools": list(profile.tools),
        "strict": profile.strict,
        "policy": None if profile.policy is None else profile.policy.value,
        "cwd": str(profile.cwd),
        "contacts": list(profile.contacts),
        "allow_replies": profile.allow_replies,
        "published": row.created,
        "author": row.author,
        "retired": row.retired,
    }


def _current(conn: Connection, agent: str) -> Profile:
    return parsed(profiles.current(conn, agent))


def _need(profile: Profile, tool: str) -> None:
    if tool not in profile.tools:
        raise NotFoundError(
            f"cannot find tool {tool[:80]} of {profile.name}: its profile does not list it",
            resolution=f"runner tools list {profile.name}",
        )


def _saved(row: VerdictRow | None) -> JsonObject:
    if row is None:
        return {"saved": None, "set_by": None, "set_at": None}
    return {"saved": row.verdict, "set_by": row.set_by.name or f"uid {row.set_by.uid}", "set_at": row.set_at}


def _word(text: str) -> SavedVerdict:
    try:
        return SavedVerdict(text)
    except ValueError:
        raise UsageError(f"cannot save {text!r}: a verdict is allow, ask or block") from None
