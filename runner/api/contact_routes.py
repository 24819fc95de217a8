"""Routes about senders. Who may send, and what of theirs reaches an agent, is the operator's alone."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Handler, Route
from runner.api.service import Service
from runner.captures import BOUNDS, parse
from runner.model import Json


async def _contacts(service: Service, _: Ask) -> Json:
    return [*await service.contacts.listed()]


async def _add(service: Service, ask: Ask) -> Json:
    verified = not ask.flag("unverified")
    kind = ask.text("kind") or "person"
    return await service.contacts.add(ask.need("petname"), ask.need("key"), kind=kind, verified=verified, who=ask.who)


async def _contact(service: Service, ask: Ask) -> Json:
    return await service.contacts.shown(ask.ref)


async def _rename(service: Service, ask: Ask) -> Json:
    return await service.contacts.rename(ask.ref, ask.need("petname"), who=ask.who)


async def _block(service: Service, ask: Ask) -> Json:
    return await service.contacts.block(ask.ref, blocked=True, who=ask.who)


async def _unblock(service: Service, ask: Ask) -> Json:
    return await service.contacts.block(ask.ref, blocked=False, who=ask.who)


async def _verify(service: Service, ask: Ask) -> Json:
    return await service.contacts.verify(ask.ref, verified=True, who=ask.who)


async def _unverify(service: Service, ask: Ask) -> Json:
    return await service.contacts.verify(ask.ref, verified=False, who=ask.who)


async def _remove(service: Service, ask: Ask) -> Json:
    return await service.contacts.remove(ask.ref, who=ask.who)


async def _send_as(service: Service, ask: Ask) -> Json:
    return await service.contacts.send_as(ask.ref, parse(ask.body))


async def _captures(service: Service, ask: Ask) -> Json:
    return [*await service.captures.listed(state=ask.query("state"))]


async def _pictures(service: Service, ask: Ask) -> Json:
    return [*await service.captures.pictures(ask.ref)]


async def _accept(service: Service, ask: Ask) -> Json:
    return await service.captures.accept(ask.ref, who=ask.who)


async def _start(service: Service, ask: Ask) -> Json:
    return await service.captures.start(ask.ref, who=ask.who)


async def _dismiss(service: Service, ask: Ask) -> Json:
    return await service.captures.dismiss(ask.ref, who=ask.who)


def _post(path: str, handler: Handler, *, releases: bool = False, cap: int = SMALL) -> Route:
    return Route(method="POST", path=path, access=Access.OPERATE, handler=handler, cap=cap, releases=releases)


CONTACT_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/contacts", access=Access.READ, handler=_contacts),
    Route(method="GET", path="/v1/contacts/{ref}", access=Access.READ, handler=_contact),
    _post("/v1/contacts", _add, releases=True),
    _post("/v1/contacts/{ref}/rename", _rename, releases=True),
    _post("/v1/contacts/{ref}/block", _block),
    _post("/v1/contacts/{ref}/unblock", _unblock, releases=True),
    _post("/v1/contacts/{ref}/verify", _verify, releases=True),
    _post("/v1/contacts/{ref}/unverify", _unverify),
    _post("/v1/contacts/{ref}/remove", _remove),
    _post("/v1/contacts/{ref}/captures", _send_as, cap=BOUNDS.wire_bytes),
    Route(method="GET", path="/v1/captures", access=Access.READ, handler=_captures),
    Route(method="GET", path="/v1/captures/{ref}/images", access=Access.READ, handler=_pictures),
    _post("/v1/captures/{ref}/accept", _accept, releases=True),
    _post("/v1/captures/{ref}/start", _start, releases=True),
    _post("/v1/captures/{ref}/dismiss", _dismiss),
)
