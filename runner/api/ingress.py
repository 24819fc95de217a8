"""The routes of the network's door: send a capture, ask whether one may come, ask what became of one, fetch what was shared.

Owns the order of looking once the sender is known: may it come, does it fit, then its bytes, their digest, their form.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Mounted

from runner.api.ingress_gate import Gate, asked_about, delivery_of
from runner.api.ingress_shares import ShareDoor
from runner.captures import parse
from runner.captures.delivery import Delivery
from runner.captures.refusals import REFUSALS, STRANGER, refused
from runner.captures.tally import Tally
from runner.errors import CaptureError, DeliveryError, RunnerError
from runner.model import Capture, JsonObject
from runner.render import json_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.api.ingress_service import Handing, Reception

_log = logging.getLogger(__name__)
#: Bytes of captures that may be in memory at once, and captures that may be parsed at once.
IN_FLIGHT, PARSERS = 96 * 1024 * 1024, 2
#: A body has this long, and a second more for every so many bytes.
BODY_SECONDS, BODY_PACE = 20.0, 64 * 1024
LONGEST_WAIT = 25.0
#: Refusals of a second that are answered at once; one beyond them waits.
FLOOD, FLOOD_REST = 600, 0.5
#: What a refused request still carries is read and thrown away up to here, so that its sender hears the answer.
_DRAIN = 64 * 1024
#: The one answer to whoever is not proven to be a contact, whatever they did.
NOBODY: JsonObject = {"error": {"code": STRANGER, "message": REFUSALS[STRANGER].says}}
_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Ingress:
    """The application.

    Args:
        reception: The supervisor's side.
        gate: Tells who made a request.
        tally: Counts.
        rest: Waits so many seconds.
    """

    def __init__(
        self, reception: Reception, *, gate: Gate, tally: Tally, rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._rest = rest
        self._reception, self._gate, self._tally = reception, gate, tally
        self._in_flight = 0
        self._second = self._refusals = 0
        self._parsers = asyncio.Semaphore(PARSERS)
        self.application = Starlette(
            routes=[
                Mounted("/v1/captures", self._told(self._send), methods=["POST"]),
                Mounted("/v1/captures/check", self._told(self._check), methods=["GET"]),
                Mounted("/v1/captures/{ref}", self._told(self._state), methods=["GET"]),
            ],
            exception_handlers={HTTPException: self._nowhere, Exception: self._bug},
        )
        self.application.router.redirect_slashes = False  # a place that there is not is not pointed at either

    def hand_over(self, handing: Handing) -> None:
        """Let contacts fetch what was shared with them, too."""
        door = ShareDoor(handing, gate=self._gate, keys=self._reception.keys)
        self.application.router.routes.extend(door.routes(self._told))

    async def _send(self, request: Request) -> Response:
        caller = self._gate.caller(request, await self._reception.keys())
        delivery = delivery_of(request, caller)
        receipt = await self._reception.admit(delivery)
        if receipt is None:
            if not delivery.fits:
                raise refused("too_large")
            with self._room(delivery.length):
                capture = await self._capture(request, delivery)
                receipt = await self._reception.take(capture, delivery)
            self._tally.took()
        return _answer(receipt)

    async def _check(self, request: Request) -> Response:
        caller = self._gate.caller(request, await self._reception.keys())
        delivery = asked_about(request, caller)
        receipt = await self._reception.admit(delivery)
        if receipt is None and not delivery.fits:
            raise refused("too_large")
        return _answer(receipt or {"state": "welcome"})

    async def _state(self, request: Request) -> Response:
        caller = self._gate.caller(request, await self._reception.keys())
        wait = request.query_params.get("wait", "0")[:3]
        seconds = min(float(wait) if wait.isascii() and wait.isdigit() else 0.0, LONGEST_WAIT)
        found = await self._reception.state(*caller, request.path_params["ref"][:32], seconds=seconds)
        return _answer(found)

    async def _capture(self, request: Request, delivery: Delivery) -> Capture:
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS + delivery.length / BODY_PACE):
                async for chunk in request.stream():
                    body += chunk
        except (TimeoutError, ClientDisconnect):
            raise refused("busy", more="its bytes came too slowly") from None
        async with self._parsers:
            return await asyncio.to_thread(_parsed, bytes(body), delivery)

    @contextmanager
    def _room(self, length: int) -> Iterator[None]:
        if self._in_flight + length > IN_FLIGHT:
            raise refused("busy", retry_after=5)
        self._in_flight += length
        try:
            yield
        finally:
            self._in_flight -= length

    def _told(self, handler: _Handler) -> _Handler:
        async def called(request: Request) -> Response:
            try:
                return await handler(request)
            except DeliveryError as error:
                await self._counted(error.code)
                return _refusal(error, request)
            except RunnerError as error:  # the database, or what a capture met between two looks: not for strangers' ears
                _log.error("cannot answer at the ingress: %s", error.diagnostics())
                return _refusal(refused("busy", retry_after=30), request)

        return called

    def count(self, why: str) -> float:
        """Count a refusal; seconds its answer waits: none but in floods, so that this loop has time for everybody else."""
        self._tally.refuse(why)
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._refusals = second, 0
        self._refusals += 1
        return FLOOD_REST if self._refusals > FLOOD else 0.0

    async def _counted(self, why: str) -> None:
        if seconds := self.count(why):
            await self._rest(seconds)

    async def _nowhere(self, request: Request, _: Exception) -> Response:
        await self._counted("no_such_place")
        return _refusal(refused(STRANGER), request)

    async def _bug(self, request: Request, _: Exception) -> Response:
        return _refusal(refused("busy", retry_after=30), request)


def _parsed(body: bytes, delivery: Delivery) -> Capture:
    if not hmac.compare_digest(hashlib.sha256(body).hexdigest(), delivery.digest):
        raise refused("malformed", more="its bytes are not those that were signed")
    try:
        capture = parse(body)
    except CaptureError as error:
        raise refused("malformed", more=error.brief.partition(": ")[2][:200]) from None
    if capture.agent != delivery.agent:
        raise refused("malformed", more="it names another agent than its head")
    return capture


def _answer(body: JsonObject, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json_document(body, compact=True), status_code=status, media_type="application/json", headers=headers)


def _refusal(error: DeliveryError, request: Request) -> Response:
    """A reason as JSON. A long body that is still to come is not waited for."""
    headers: dict[str, str] = {}
    length = request.headers.get("content-length", "0")
    if "transfer-encoding" in request.headers or len(length) > 9 or not length.isdigit() or int(length) > _DRAIN:
        headers["connection"] = "close"
    if error.code == STRANGER:
        return _answer(NOBODY, status=404, headers=headers)
    body: JsonObject = {"code": error.code, "message": error.brief, "hint": error.resolution or ""}
    if error.retry_after is not None:
        body["retry_after"] = error.retry_after
        headers["retry-after"] = str(error.retry_after)
    return _answer({"error": body}, status=error.http_status, headers=headers)
