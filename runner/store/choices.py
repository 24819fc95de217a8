"""The owner's standing choices that a decision depends on: saved verdicts, the default policy, a ceiling on it."""

from __future__ import annotations

from types import MappingProxyType

from sqlalchemy import Connection

from runner.model import Json
from runner.store import audit, codec, grants, meta, verdicts
from runner.store.chosen import CEILING, POLICY, Choices
from runner.store.rows import Approver


def of_agent(conn: Connection, agent: str) -> Choices:
    """Everything that binds an agent's calls now, on one view of the rows."""
    saved = {row.tool: row.verdict for row in verdicts.of_agent(conn, agent)}
    given = grants.of_agent(conn, agent)
    return Choices(
        saved=MappingProxyType(saved),
        policy=meta.get(conn, POLICY),
        ceiling=meta.get(conn, CEILING),
        grants=tuple(row.grant for row in given),
        spent=frozenset(row.id for row in given if row.used >= row.uses),
    )


def set_policy(conn: Connection, *, policy: str, ceiling: str | None, who: Approver, now: float) -> None:
    """Choose the owner's default, and a ceiling where one is given; who and when go into the audit (R66)."""
    facts: dict[str, Json] = {"policy": policy, "before": meta.get(conn, POLICY)}
    meta.put(conn, POLICY, policy)
    if ceiling is not None:
        facts |= {"ceiling": ceiling, "ceiling_before": meta.get(conn, CEILING)}
        meta.put(conn, CEILING, ceiling)
    audit.append(conn, time=now, event="policy.set", subject="owner", data=facts | codec.by(who))
