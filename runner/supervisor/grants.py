"""What the owner does with grants: see what one would skip, give it, list them, take one back (D3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.approvals import Approver
from runner.digest import parse_call
from runner.errors import AlreadyDecidedError, NotAllowedError, NotFoundError, UsageError
from runner.model import WORKSPACE, GrantId, Json, JsonObject, Policy, Profile, Verdict
from runner.policy import TOOLS, Grant, PolicyContext
from runner.policy.grants import Wish, grantable
from runner.policy.judge import find_tool, judge
from runner.policy.scopes import NARROWABLE
from runner.policy.tool import ArgumentKind, Tool
from runner.profiles.examples import EmptyDirectory
from runner.sandbox.view import holds_anything
from runner.store import ApprovalRow, Choices, Connection, Store, choices, grants, lookbacks, profiles
from runner.store.grants import GrantRow
from runner.supervisor.beside import sentence
from runner.supervisor.changes import Changes
from runner.supervisor.ids import Ids
from runner.supervisor.parsing import parsed
from runner.supervisor.progress import Clock

#: A grant is for work at hand: so many seconds and so many calls at most, and so many of an agent at a time.
LONGEST, MOST_USES, MOST_LIVE = 24 * 3600, 100, 50
#: Patterns of one grant, signs of one, calls of the past that are looked through for samples, and samples.
_PATTERNS, _SIGNS, _PAST, _SAMPLES = 8, 200, 500, 3
_EVER = 2**62
#: Stands in a plan where an id would.
_NONE = GrantId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """Implements `runner.api.grant_service.Grants`. `ceiling` is this host's."""

    store: Store
    changes: Changes
    clock: Clock
    ids: Ids
    ceiling: Policy

    async def plan(self, wish: Wish, *, who: Approver) -> JsonObject:
        """What a grant would skip asking for, with calls of the past that look so; nothing is granted.

        Raises:
            RunnerError: As `give`.
        """
        return await self.store.query(self._plan, wish, who)

    async def give(self, wish: Wish, *, who: Approver) -> JsonObject:
        """Give a grant.

        Raises:
            NotFoundError: No such agent, or it has no such tool.
            UsageError: It has no meaning, or would skip nothing.
            NotAllowedError: No grant may lift what makes these calls ask.
        """
        return await self.store.call(self._give, wish, who)

    async def listed(self, agent: str | None, *, everything: bool) -> JsonObject:
        """Grants, newest first; without `everything` those that live."""
        return await self.store.query(self._listed, agent, everything=everything)

    async def grant(self, ref: str) -> JsonObject:
        """One grant."""
        return await self.store.query(self._one, ref)

    async def revoke(self, ref: str, *, who: Approver) -> JsonObject:
        """Take a grant back, at once; what it let in and has not begun goes stale.

        Raises:
            AlreadyDecidedError: It has ended.
        """
        found = await self.store.call(self._revoke, ref, who)
        self.changes.ring()
        return found

    def _plan(self, conn: Connection, wish: Wish, who: Approver) -> JsonObject:
        row = self._row(conn, wish, _NONE, who)
        return self._view(conn, row) | {"id": None}

    def _give(self, conn: Connection, wish: Wish, who: Approver) -> JsonObject:
        row = self._row(conn, wish, self.ids.grant(), who)
        if grants.live(conn, row.agent, now=row.created) >= MOST_LIVE:
            raise UsageError(f"cannot grant: {row.agent} has {MOST_LIVE} grants already", resolution="runner revoke GRANT")
        return self._view(conn, grants.insert(conn, row))

    def _listed(self, conn: Connection, agent: str | None, *, everything: bool) -> JsonObject:
        now = self.clock()
        found = [row for row in grants.list(conn, agent=agent) if everything or row.state(now) == "live"]
        return {"grants": [line(row, now=now) for row in found]}

    def _one(self, conn: Connection, ref: str) -> JsonObject:
        return self._view(conn, grants.find(conn, ref))

    def _revoke(self, conn: Connection, ref: str, who: Approver) -> JsonObject:
        row, now = grants.find(conn, ref), self.clock()
        ended = grants.revoke(conn, row.id, who=who, now=now) if row.state(now) in {"live", "used up"} else None
        if ended is None:
            raise AlreadyDecidedError(f"cannot revoke {row.id}: it is {row.state(now)} already")
        return self._view(conn, ended)

    def _row(self, conn: Connection, wish: Wish, id: GrantId, who: Approver) -> GrantRow:  # noqa: PLR0917 -- for `call`
        profile = parsed(profiles.current(conn, wish.agent))
        if wish.tool not in profile.tools:
            raise NotFoundError(
                f"cannot find tool {wish.tool[:80]} of {profile.name}: its profile does not list it",
                resolution=f"runner tools list {profile.name}",
            )
        _refuse(profile, choices.of_agent(conn, profile.name), wish.tool, ceiling=self.ceiling)
        if not 0 < wish.seconds <= LONGEST or not 0 < wish.uses <= MOST_USES:
            raise UsageError(f"cannot grant: a grant lasts at most 24h and {MOST_USES} calls", resolution="--for 1h --uses 20")
        grant = Grant(
            id=id,
            tool=wish.tool,
            profile_digest=profile.digest,
            prefix=None if wish.path is None else _prefix(wish.tool, wish.path),
            matches=_matches(TOOLS[wish.tool], wish.match),
        )
        now = self.clock()
        return GrantRow(
            agent=profile.name, grant=grant, created=now, expires=now + wish.seconds, uses=wish.uses, granted_by=who
        )

    def _view(self, conn: Connection, row: GrantRow) -> JsonObject:
        """A grant with calls of the past that look as it says."""
        past = lookbacks.decided(conn, agent=row.agent, tool=row.grant.tool, before=_EVER, limit=_PAST)
        alike = [one for one in past if row.grant.covers(parse_call(one.tool, one.raw), one.paths)]
        samples: list[Json] = [_sample(one) for one in alike[:_SAMPLES]]
        return line(row, now=self.clock()) | {"samples": samples, "samples_total": len(alike)}


def line(row: GrantRow, *, now: float) -> JsonObject:
    """A grant in a list."""
    grant = row.grant
    return {
        "id": row.id,
        "agent": row.agent,
        "tool": grant.tool,
        "path": None if grant.prefix is None else "/".join(grant.prefix),
        "match": dict(grant.matches),
        "says": _says(row),
        "state": row.state(now),
        "uses": row.uses,
        "used": row.used,
        "created": row.created,
        "expires": row.expires,
        "profile_digest": grant.profile_digest,
        "granted_by": row.granted_by.name or f"uid {row.granted_by.uid}",
        "revoked_by": None if row.revoked_by is None else row.revoked_by.name or f"uid {row.revoked_by.uid}",
    }


def _refuse(profile: Profile, chosen: Choices, name: str, *, ceiling: Policy) -> None:
    """Refuse a grant that the decision would not follow, by asking the decision (D3)."""
    context = chosen.into(PolicyContext(view=EmptyDirectory(), sensitive=holds_anything(profile.cwd)), host=ceiling)
    tool = find_tool(name, context)
    what = f"cannot grant {name} to {profile.name}"
    if not grantable(tool):
        raise NotAllowedError(
            f"{what}: no grant is given for a tool that is unknown, sends, executes or deletes",
            resolution="each of its calls is decided on its own",
        )
    if profile.approvals.required != 1:
        raise NotAllowedError(f"{what}: its calls need {profile.approvals.required} approvers, and a grant is one yes")
    if judge(tool, profile, context).verdict is Verdict.ALLOW:
        raise UsageError(f"{what}: its calls run unasked already", resolution=f"runner tools list {profile.name}")
    vote = judge(tool, profile, context, granted=True)
    if vote.verdict is not Verdict.ALLOW:
        raise NotAllowedError(f"{what}: {vote.says}, and no grant changes that", resolution="runner explain says more")


def _prefix(tool: str, path: str) -> tuple[str, ...]:
    """The names of a path of the workspace."""
    if tool not in NARROWABLE:
        raise UsageError(f"cannot narrow {tool} to a path: it may reach further than its path says", resolution="--match")
    names = _names(path)
    if not names:
        raise UsageError(
            f"cannot use --path {path[:200]}: it must name something beneath the workspace", resolution="--path out"
        )
    return names


def _names(path: str) -> tuple[str, ...]:
    whole = WORKSPACE / path
    inside = len(path) <= _SIGNS * 5 and path.isprintable() and whole.is_relative_to(WORKSPACE)
    names = whole.relative_to(WORKSPACE).parts if inside else ()
    return () if ".." in names else names


def _matches(tool: Tool, match: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if len(match) > _PATTERNS:
        raise UsageError(f"cannot grant: at most {_PATTERNS} patterns")
    return tuple((key, _glob(tool, key, glob)) for key, glob in sorted(match.items()))


def _glob(tool: Tool, key: str, glob: str) -> str:
    """A pattern for one text argument; for a path it is compared with where the path leads."""
    known = next((one for one in tool.arguments or () if one.name == key and one.kind is ArgumentKind.TEXT), None)
    if known is None:
        texts = [one.name for one in tool.arguments or () if one.kind is ArgumentKind.TEXT]
        raise UsageError(f"cannot match {key[:80]}: {tool.name} has no such text", resolution=f"it has {', '.join(texts)}")
    if not 0 < len(glob) <= _SIGNS:
        raise UsageError(f"cannot match {key}: a pattern has 1 to {_SIGNS} characters")
    if known.path is None:
        return glob
    names = _names(glob)
    if not names:
        raise UsageError(f"cannot match {key}: the pattern must name something beneath the workspace", resolution="out/*.md")
    return str(PurePosixPath(*names))


def _says(row: GrantRow) -> str:
    grant = row.grant
    parts = [f"{grant.tool} of {row.agent}"]
    parts += [f"beneath {'/'.join(grant.prefix)}"] if grant.prefix is not None else []
    parts += [f"where {key} looks like {glob}" for key, glob in grant.matches]
    return ", ".join([*parts, f"{row.uses} times at most, within {(row.expires - row.created) / 60:.0f} min"])


def _sample(row: ApprovalRow) -> JsonObject:
    return {"id": row.id, "about": sentence(row), "state": row.state.value, "created": row.created}
