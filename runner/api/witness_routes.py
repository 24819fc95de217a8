"""Routes of what is put on record about looking, and of who may decide."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.model import Json, JsonObject


async def _shown(service: Service, ask: Ask) -> Json:
    return await service.witness.shown(ask.ref, _card(ask), who=ask.who)


async def _reply_shown(service: Service, ask: Ask) -> Json:
    return await service.witness.reply_shown(ask.ref, _card(ask), who=ask.who)


def _card(ask: Ask) -> JsonObject:
    return {
        "surface": ask.need("surface")[:40],
        "digest": ask.need("digest")[:100],
        "parts": ask.count("parts"),
        "render_digest": ask.need("render_digest")[:100],
    }


async def _approvers(service: Service, _: Ask) -> Json:
    return await service.witness.approvers()


WITNESS_ROUTES: tuple[Route, ...] = (
    Route(method="POST", path="/v1/approvals/{ref}/shown", access=Access.DECIDE, handler=_shown, cap=SMALL),
    Route(method="POST", path="/v1/replies/{ref}/shown", access=Access.DECIDE, handler=_reply_shown, cap=SMALL),
    Route(method="GET", path="/v1/approvers", access=Access.READ, handler=_approvers),
)
