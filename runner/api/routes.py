"""The control API as a table: method, path, access, body cap, handler. What is not in the table does not exist.

Owns which method of the service a request reaches. Handlers read their arguments through `Ask`, never from the request itself.
"""

from __future__ import annotations

import asyncio

from runner.api.access import Access
from runner.api.agent_routes import AGENT_ROUTES
from runner.api.ask import Ask
from runner.api.contact_routes import CONTACT_ROUTES
from runner.api.forward_routes import FORWARD_ROUTES
from runner.api.grant_routes import GRANT_ROUTES
from runner.api.publishing import publishable
from runner.api.record_routes import RECORD_ROUTES
from runner.api.reply_routes import REPLY_ROUTES
from runner.api.route import INPUT, MAX_INPUT, SMALL, Route
from runner.api.service import Service
from runner.api.share_routes import SHARE_ROUTES
from runner.api.spending_routes import SPENDING_ROUTES
from runner.api.thread_routes import THREAD_ROUTES
from runner.api.witness_routes import WITNESS_ROUTES
from runner.captures import BOUNDS, parse
from runner.errors import DigestMismatchError, UsageError
from runner.model import OWNER, Json

#: Events of one answer, unless the client says how many.
EVENTS = 100
_ANSWERS = {"happened": True, "not-happened": False}


async def _status(service: Service, _: Ask) -> Json:
    return await service.status()


async def _send(service: Service, ask: Ask) -> Json:
    return await service.send(parse(ask.body), sender=OWNER)


async def _runs(service: Service, ask: Ask) -> Json:
    return [*await service.runs(agent=ask.query("agent"), state=ask.query("state"))]


async def _run(service: Service, ask: Ask) -> Json:
    return await service.run(ask.ref)


async def _wait_run(service: Service, ask: Ask) -> Json:
    return await service.wait_run(ask.ref, version=ask.version, seconds=ask.seconds)


async def _resume(service: Service, ask: Ask) -> Json:
    return await service.resume(ask.ref)


async def _stop(service: Service, ask: Ask) -> Json:
    return await service.stop(ask.ref, who=ask.who, reason=ask.text("reason"))


async def _approvals(service: Service, ask: Ask) -> Json:
    return await service.approvals(run=ask.query("run"), states=ask.queries("state"), limit=ask.number("limit"))


async def _approval(service: Service, ask: Ask) -> Json:
    return await service.approval(ask.ref)


async def _wait_approval(service: Service, ask: Ask) -> Json:
    return await service.wait_approval(ask.ref, version=ask.version, seconds=ask.seconds)


async def _approve(service: Service, ask: Ask) -> Json:
    edited = ask.raw("input", limit=MAX_INPUT)
    if edited is not None:
        return await service.queue.approve_edited(
            ask.ref, edited, digest=ask.need("digest"), reason=ask.text("reason"), who=ask.who
        )
    return await service.approve(ask.ref, digest=ask.need("digest"), reason=ask.text("reason"), who=ask.who)


async def _plan_edit(service: Service, ask: Ask) -> Json:
    edited = ask.raw("input", limit=MAX_INPUT)
    if edited is None:
        raise UsageError("cannot edit: input is missing")
    return await service.queue.plan_edit(ask.ref, edited, who=ask.who)


async def _deny(service: Service, ask: Ask) -> Json:
    return await service.deny(ask.ref, reason=ask.text("reason"), stop=ask.flag("stop"), who=ask.who)


async def _settle(service: Service, ask: Ask) -> Json:
    return await service.settle(ask.ref, happened=ask.one_of("answer", _ANSWERS), reason=ask.text("reason"), who=ask.who)


async def _plan_undo(service: Service, ask: Ask) -> Json:
    return await service.undos.plan(ask.ref)


async def _undo(service: Service, ask: Ask) -> Json:
    return await service.undos.undo(ask.ref, who=ask.who)


async def _extend(service: Service, ask: Ask) -> Json:
    return await service.queue.extend(ask.ref, seconds=ask.count("seconds"), who=ask.who)


async def _listed(service: Service, ask: Ask) -> Json:
    return await service.queue.listed(ask.ref)


async def _approve_all(service: Service, ask: Ask) -> Json:
    return await service.queue.approve_all(ask.calls(), ask.text("snapshot"), reason=ask.text("reason"), who=ask.who)


async def _deny_all(service: Service, ask: Ask) -> Json:
    ids = [id for id, _ in ask.calls()]
    return await service.queue.deny_all(ids, ask.text("snapshot"), reason=ask.text("reason"), who=ask.who)


async def _log(service: Service, ask: Ask) -> Json:
    return await service.log(after=ask.number("after"), limit=ask.number("limit") or EVENTS, seconds=ask.seconds)


async def _publish(service: Service, ask: Ask) -> Json:
    keys = (await service.witness.approvers()).get("keys")
    profile = await asyncio.to_thread(publishable, ask.path("path"), keys=len(keys) if isinstance(keys, list) else 0)
    if ask.text("digest") not in {None, profile.digest}:
        raise DigestMismatchError("cannot publish: the file has changed since it was checked", resolution="publish it again")
    return await service.publish(profile, who=ask.who)


async def _profiles(service: Service, _: Ask) -> Json:
    return [*await service.profiles()]


async def _pause(service: Service, ask: Ask) -> Json:
    return await service.switch.pause(reason=ask.text("reason"), who=ask.who)


async def _go_on(service: Service, ask: Ask) -> Json:
    return await service.switch.resume(who=ask.who)


async def _find(service: Service, ask: Ask) -> Json:
    return await service.find(ask.ref)


ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/status", access=Access.READ, handler=_status),
    Route(method="POST", path="/v1/captures", access=Access.OPERATE, handler=_send, cap=BOUNDS.wire_bytes),
    Route(method="GET", path="/v1/runs", access=Access.READ, handler=_runs),
    Route(method="GET", path="/v1/runs/{ref}", access=Access.READ, handler=_run),
    Route(method="GET", path="/v1/runs/{ref}/wait", access=Access.READ, handler=_wait_run),
    Route(method="POST", path="/v1/runs/{ref}/resume", access=Access.OPERATE, handler=_resume, cap=SMALL),
    Route(method="POST", path="/v1/runs/{ref}/stop", access=Access.OPERATE, handler=_stop, cap=SMALL),
    Route(method="GET", path="/v1/approvals", access=Access.READ, handler=_approvals),
    Route(method="GET", path="/v1/approvals/{ref}", access=Access.READ, handler=_approval),
    Route(method="GET", path="/v1/approvals/{ref}/wait", access=Access.READ, handler=_wait_approval),
    Route(method="POST", path="/v1/approvals/{ref}/approve", access=Access.DECIDE, handler=_approve, cap=INPUT, releases=True),
    Route(method="POST", path="/v1/approvals/{ref}/edit", access=Access.DECIDE, handler=_plan_edit, cap=INPUT),
    Route(method="POST", path="/v1/approvals/{ref}/deny", access=Access.DECIDE, handler=_deny, cap=SMALL),
    Route(method="POST", path="/v1/approvals/{ref}/settle", access=Access.DECIDE, handler=_settle, cap=SMALL, releases=True),
    Route(method="GET", path="/v1/approvals/{ref}/undo", access=Access.READ, handler=_plan_undo),
    Route(method="POST", path="/v1/approvals/{ref}/undo", access=Access.OPERATE, handler=_undo, cap=SMALL, releases=True),
    Route(method="POST", path="/v1/approvals/{ref}/extend", access=Access.DECIDE, handler=_extend, cap=SMALL),
    Route(method="GET", path="/v1/batch/{ref}", access=Access.READ, handler=_listed),
    Route(method="POST", path="/v1/batch/approve", access=Access.DECIDE, handler=_approve_all, cap=SMALL, releases=True),
    Route(method="POST", path="/v1/batch/deny", access=Access.DECIDE, handler=_deny_all, cap=SMALL),
    Route(method="GET", path="/v1/log", access=Access.READ, handler=_log),
    Route(method="GET", path="/v1/profiles", access=Access.READ, handler=_profiles),
    Route(method="POST", path="/v1/profiles", access=Access.OPERATE, handler=_publish, cap=SMALL, releases=True),
    Route(method="GET", path="/v1/find/{ref}", access=Access.READ, handler=_find),
    Route(method="POST", path="/v1/pause", access=Access.OPERATE, handler=_pause, cap=SMALL),
    Route(method="POST", path="/v1/resume", access=Access.OPERATE, handler=_go_on, cap=SMALL, releases=True),
    *AGENT_ROUTES,
    *FORWARD_ROUTES,
    *GRANT_ROUTES,
    *CONTACT_ROUTES,
    *RECORD_ROUTES,
    *REPLY_ROUTES,
    *SHARE_ROUTES,
    *SPENDING_ROUTES,
    *THREAD_ROUTES,
    *WITNESS_ROUTES,
)
