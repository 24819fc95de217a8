"""Routes about replies. Whoever decides about calls decides about them."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.model import Json


async def _replies(service: Service, ask: Ask) -> Json:
    return [*await service.replies.listed(state=ask.query("state"))]


async def _reply(service: Service, ask: Ask) -> Json:
    return await service.replies.shown(ask.ref)


async def _approve(service: Service, ask: Ask) -> Json:
    return await service.replies.approve(ask.ref, digest=ask.need("digest"), reason=ask.text("reason"), who=ask.who)


async def _deny(service: Service, ask: Ask) -> Json:
    return await service.replies.deny(ask.ref, reason=ask.text("reason"), who=ask.who)


REPLY_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/replies", access=Access.READ, handler=_replies),
    Route(method="GET", path="/v1/replies/{ref}", access=Access.READ, handler=_reply),
    Route(method="POST", path="/v1/replies/{ref}/approve", access=Access.DECIDE, handler=_approve, cap=SMALL, releases=True),
    Route(method="POST", path="/v1/replies/{ref}/deny", access=Access.DECIDE, handler=_deny, cap=SMALL),
)
