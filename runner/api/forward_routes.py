"""The route that hands a capture on. Which agent sees what somebody sent is the operator's alone."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.model import Json


async def _forward(service: Service, ask: Ask) -> Json:
    return await service.forwarding.forward(ask.ref, to=ask.need("to"), note=ask.text("note") or "", who=ask.who)


FORWARD_ROUTES: tuple[Route, ...] = (
    Route(method="POST", path="/v1/captures/{ref}/forward", access=Access.OPERATE, handler=_forward, cap=SMALL, releases=True),
)
