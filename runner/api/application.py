"""The Starlette application made from the route table.

Owns the order in which a request is refused: who, from where, which route, how large, what shape, on whose word. Answers
errors in one form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Mounted

from runner.api.access import People, check_access, refuse_browsers
from runner.api.admission import Admission, Asked
from runner.api.ask import Ask, read_body
from runner.api.errors import error_body
from runner.api.markers import HEADER, declared
from runner.api.peer import PEER, Peer
from runner.api.route import Route
from runner.api.routes import ROUTES
from runner.api.service import Service
from runner.errors import NotFoundError, RunnerError, UsageError
from runner.model import Json
from runner.render import json_document

_Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def make_application(
    service: Service, *, people: People, admission: Admission, routes: Collection[Route] = ROUTES
) -> Starlette:
    """The application of a control socket."""
    mounted = [Mounted(route.path, _endpoint(service, people, admission, route), methods=[route.method]) for route in routes]
    return Starlette(
        routes=mounted,
        exception_handlers={RunnerError: _answer_error, HTTPException: _answer_http, Exception: _answer_bug},
    )


def _endpoint(service: Service, people: People, admission: Admission, route: Route) -> _Endpoint:  # noqa: PLR0917
    async def called(request: Request) -> Response:
        found = request.scope.get(PEER)
        peer = check_access(people, found if isinstance(found, Peer) else None, route.access)
        refuse_browsers(request.headers)
        body = await read_body(request, cap=route.cap) if route.cap else {}
        ask = Ask(peer=peer, raw_ref=request.path_params.get("ref", ""), params=request.query_params, body=body)
        if route.releases:
            proof = await admission.admit(service.witness, _asked(request, ask))
            ask = replace(ask, proof=proof)
        return _answer(await route.handler(service, ask))

    return called


def _asked(request: Request, ask: Ask) -> Asked:
    act = request.scope["path"].removeprefix("/v1/")
    markers = declared(request.headers.get(HEADER))
    return Asked(act=act, ref=ask.ref, body=ask.body, peer=ask.peer, markers=markers, who=ask.who)


def _answer(value: Json, *, status: int = 200) -> Response:
    """ASCII JSON: a record that holds a lone surrogate is answered too."""
    return Response(json_document(value, compact=True), status_code=status, media_type="application/json")


def _answer_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RunnerError):
        return _answer_bug(request, error)
    return _answer(error_body(error), status=error.http_status)


def _answer_http(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known: RunnerError = NotFoundError("cannot find this route") if status == 404 else UsageError("cannot use this method here")
    return _answer(error_body(known), status=status)


def _answer_bug(_: Request, error: Exception) -> Response:
    """A bug of ours: its text stays in the log."""
    bug = RunnerError(f"cannot answer: {type(error).__name__} in the supervisor", resolution="its log has the traceback")
    return _answer(error_body(bug), status=500)
