"""Routes about shares. What leaves towards a contact is the operator's alone."""

from __future__ import annotations

import asyncio
import base64
import binascii

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.captures.sharing import MAX_FILES, MAX_TOTAL
from runner.errors import UsageError
from runner.model import Json

#: Base64 of everything a share may hold, and room for names.
_CAP = MAX_TOTAL * 4 // 3 + SMALL


async def _plan(service: Service, ask: Ask) -> Json:
    given = ask.body.get("files")
    if not isinstance(given, list) or len(given) > MAX_FILES:
        raise UsageError(f"cannot use files: it must be a list of at most {MAX_FILES}")
    files = await asyncio.to_thread(lambda: [_file(one, ask) for one in given])
    seconds = None if ask.body.get("seconds") is None else float(ask.count("seconds"))
    return await service.shares.plan(ask.need("to"), files, note=ask.text("note") or "", seconds=seconds)


async def _share(service: Service, ask: Ask) -> Json:
    return await service.shares.share(ask.need("digest"), who=ask.who)


async def _shares(service: Service, ask: Ask) -> Json:
    return [*await service.shares.listed(state=ask.query("state"))]


async def _one(service: Service, ask: Ask) -> Json:
    return await service.shares.shown(ask.ref)


async def _withdraw(service: Service, ask: Ask) -> Json:
    return await service.shares.withdraw(ask.ref, reason=ask.text("reason"), who=ask.who)


def _file(given: Json, ask: Ask) -> tuple[str, bytes]:
    if not isinstance(given, dict) or given.keys() != {"name", "data"}:
        raise UsageError("cannot use files: each must be an object of name and data")
    name, data = Ask(peer=ask.peer, body=given).need("name"), given["data"]
    try:
        if isinstance(data, str):
            return name, base64.b64decode(data.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        pass
    raise UsageError("cannot use files: data must be base64")


SHARE_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/shares", access=Access.READ, handler=_shares),
    Route(method="GET", path="/v1/shares/{ref}", access=Access.READ, handler=_one),
    Route(method="POST", path="/v1/shares/plan", access=Access.OPERATE, handler=_plan, cap=_CAP),
    Route(method="POST", path="/v1/shares", access=Access.OPERATE, handler=_share, cap=SMALL, releases=True),
    Route(method="POST", path="/v1/shares/{ref}/withdraw", access=Access.OPERATE, handler=_withdraw, cap=SMALL),
)
