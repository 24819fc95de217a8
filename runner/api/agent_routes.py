"""Routes of the owner's side of agents. What loosens or tightens what an agent may do is the operator's alone."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.model import Json


async def _profile(service: Service, ask: Ask) -> Json:
    return await service.agents.profile(ask.ref)


async def _retire(service: Service, ask: Ask) -> Json:
    return await service.agents.retire(ask.ref, who=ask.who)


async def _tools(service: Service, ask: Ask) -> Json:
    return await service.agents.tools(ask.ref)


async def _save(service: Service, ask: Ask) -> Json:
    return await service.agents.save(ask.ref, ask.need("tool"), ask.need("verdict"), who=ask.who)


async def _reset(service: Service, ask: Ask) -> Json:
    return await service.agents.reset(ask.ref, ask.text("tool"), who=ask.who)


async def _policy(service: Service, _: Ask) -> Json:
    return await service.agents.policy()


async def _choose(service: Service, ask: Ask) -> Json:
    return await service.agents.choose(ask.need("policy"), ask.text("ceiling"), who=ask.who)


async def _approve(service: Service, ask: Ask) -> Json:
    return await service.approve(
        ask.ref, digest=ask.need("digest"), reason=ask.text("reason"), who=ask.who, save=ask.need("verdict")
    )


async def _deny(service: Service, ask: Ask) -> Json:
    return await service.deny(ask.ref, reason=ask.text("reason"), stop=ask.flag("stop"), who=ask.who, save=ask.need("verdict"))


AGENT_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/profiles/{ref}", access=Access.READ, handler=_profile),
    Route(method="POST", path="/v1/profiles/{ref}/retire", access=Access.OPERATE, handler=_retire, cap=SMALL),
    Route(method="GET", path="/v1/profiles/{ref}/tools", access=Access.READ, handler=_tools),
    Route(method="POST", path="/v1/profiles/{ref}/tools", access=Access.OPERATE, handler=_save, cap=SMALL, releases=True),
    Route(
        method="POST", path="/v1/profiles/{ref}/tools/reset", access=Access.OPERATE, handler=_reset, cap=SMALL, releases=True
    ),
    Route(method="GET", path="/v1/policy", access=Access.READ, handler=_policy),
    Route(method="POST", path="/v1/policy", access=Access.OPERATE, handler=_choose, cap=SMALL, releases=True),
    Route(
        method="POST",
        path="/v1/approvals/{ref}/approve-and-save",
        access=Access.OPERATE,
        handler=_approve,
        cap=SMALL,
        releases=True,
    ),
    Route(method="POST", path="/v1/approvals/{ref}/deny-and-save", access=Access.OPERATE, handler=_deny, cap=SMALL),
)
