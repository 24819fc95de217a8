"""Routes of notices and of what is counted."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.model import Json


async def _test(service: Service, ask: Ask) -> Json:
    return await service.notices.test(who=ask.who)


async def _statistics(service: Service, ask: Ask) -> Json:
    return await service.statistics.decisions(since=float(ask.number("since") or 0))


RECORD_ROUTES: tuple[Route, ...] = (
    Route(method="POST", path="/v1/notices/test", access=Access.OPERATE, handler=_test, cap=SMALL),
    Route(method="GET", path="/v1/statistics", access=Access.READ, handler=_statistics),
)
