"""Routes of grants. Whatever lets calls run unasked is the operator's alone."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.model import Json
from runner.policy.grants import Wish


async def _listed(service: Service, ask: Ask) -> Json:
    return await service.grants.listed(ask.query("agent"), everything=ask.query("all") is not None)


async def _plan(service: Service, ask: Ask) -> Json:
    return await service.grants.plan(_wish(ask), who=ask.who)


async def _give(service: Service, ask: Ask) -> Json:
    return await service.grants.give(_wish(ask), who=ask.who)


async def _grant(service: Service, ask: Ask) -> Json:
    return await service.grants.grant(ask.ref)


async def _revoke(service: Service, ask: Ask) -> Json:
    return await service.grants.revoke(ask.ref, who=ask.who)


def _wish(ask: Ask) -> Wish:
    return Wish(
        agent=ask.need("agent"),
        tool=ask.need("tool"),
        seconds=ask.count("seconds"),
        uses=ask.count("uses"),
        path=ask.text("path"),
        match=ask.texts("match"),
    )


GRANT_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/grants", access=Access.READ, handler=_listed),
    Route(method="POST", path="/v1/grants", access=Access.OPERATE, handler=_give, cap=SMALL, releases=True),
    Route(method="POST", path="/v1/grants/plan", access=Access.OPERATE, handler=_plan, cap=SMALL),
    Route(method="GET", path="/v1/grants/{ref}", access=Access.READ, handler=_grant),
    Route(method="POST", path="/v1/grants/{ref}/revoke", access=Access.OPERATE, handler=_revoke, cap=SMALL),
)
