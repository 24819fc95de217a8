"""Shares as the contract's JSON: what would leave and what it gives away, what was shared, what its contact is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.captures.revealing import Link
from runner.captures.sharing import Found, Host
from runner.model import Digest, Json, JsonObject
from runner.store import AuditRow
from runner.store.shares import FileRow, ShareRow
from runner.supervisor.views import event_line, sender_name

if TYPE_CHECKING:
    from runner.supervisor.shares import Draft


def draft_view(draft: Draft, *, digest: Digest, links: Sequence[Link]) -> JsonObject:
    """`share --dry-run --json`."""
    leads = [Host(link.host, link.form, link.loads, 1) for link in links]
    return {
        "to": draft.to.petname,
        "sender": sender_name(draft.to),
        "note": draft.note,
        "seconds": draft.seconds,
        "files": [_found(one) for one in draft.files],
        "bytes": sum(one.size for one in draft.files),
        "links": [_host(one) for one in leads],
        "warnings": [*draft.warnings],
        "digest": digest,
    }


def share_line(row: ShareRow) -> JsonObject:
    """A share in a list."""
    files: list[Json] = [_file(one) for one in row.files]
    return {
        "id": row.id,
        "to": row.to.petname,
        "sender": sender_name(row.to),
        "state": row.state.value,
        "note": row.note,
        "files": files,
        "bytes": sum(one.size for one in row.files),
        "warnings": [*row.warnings],
        "digest": row.digest,
        "created": row.created,
        "expires": row.expires,
        "ended": row.ended,
        "fetched": max((one.fetched for one in row.files if one.fetched is not None), default=None),
        "shared_by": row.shared_by.facts(),
    }


def share_view(row: ShareRow, history: Sequence[AuditRow]) -> JsonObject:
    """`show --json` of a share."""
    past: list[Json] = [event_line(one) for one in history]
    return share_line(row) | {"history": past, "version": row.version}


def offer_view(row: ShareRow) -> JsonObject:
    """What its contact is told: nothing that they could not see by fetching it."""
    files: list[Json] = [{"n": one.n, "name": one.name, "size": one.size, "digest": one.digest} for one in row.files]
    return {"share": row.id, "note": row.note, "expires": row.expires, "files": files}


def _file(one: FileRow) -> JsonObject:
    return {
        "n": one.n,
        "name": one.name,
        "kind": one.kind,
        "size": one.size,
        "digest": one.digest,
        "fetches": one.fetches,
        "fetched": one.fetched,
    }


def _found(one: Found) -> JsonObject:
    return {
        "name": one.name,
        "kind": one.kind,
        "size": one.size,
        "digest": one.digest,
        "sealed": one.sealed,
        "warnings": [*one.warnings],
        "links": [_host(host) for host in one.hosts],
        "more_links": one.more_hosts,
    }


def _host(one: Host) -> JsonObject:
    return {"host": one.name, "form": one.form, "fetched_when_shown": one.loads, "times": one.times}
