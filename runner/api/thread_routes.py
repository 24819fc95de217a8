"""Routes of threads. Who goes on with the owner's conversation is the operator alone; a capture itself names no thread."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import Route
from runner.api.service import Service
from runner.captures import BOUNDS, parse
from runner.model import Json


async def _threads(service: Service, _: Ask) -> Json:
    return [*await service.threads.listed()]


async def _send(service: Service, ask: Ask) -> Json:
    return await service.threads.send(ask.ref, parse(ask.body))


THREAD_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/threads", access=Access.READ, handler=_threads),
    Route(method="POST", path="/v1/threads/{ref}/captures", access=Access.OPERATE, handler=_send, cap=BOUNDS.wire_bytes),
)
