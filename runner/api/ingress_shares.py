"""The routes at the network's door by which a contact fetches what was handed to them. Each request is signed by itself."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Mounted

from runner.api.ingress_gate import Gate
from runner.captures.refusals import refused
from runner.model import JsonObject
from runner.render import json_document

if TYPE_CHECKING:
    from runner.api.ingress_service import Handing

_NUMBER = re.compile(r"[0-9]{1,4}")
_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Keys: TypeAlias = Callable[[], Awaitable[Mapping[str, str]]]


class ShareDoor:
    """Answers about shares.

    Args:
        handing: The supervisor's side.
        gate: Tells who made a request.
        keys: Public keys by fingerprint, of everybody who may ask at all.
    """

    def __init__(self, handing: Handing, *, gate: Gate, keys: Keys) -> None:
        self._handing, self._gate, self._keys = handing, gate, keys

    def routes(self, told: Callable[[_Handler], _Handler]) -> tuple[Mounted, ...]:
        """The routes; `told` makes answers of refusals."""
        return (
            Mounted("/v1/shares", told(self._offered), methods=["GET"]),
            Mounted("/v1/shares/{ref}", told(self._described), methods=["GET"]),
            Mounted("/v1/shares/{ref}/{n}/{part}", told(self._piece), methods=["GET"]),
        )

    async def _offered(self, request: Request) -> Response:
        caller = self._gate.caller(request, await self._keys())
        return _json(await self._handing.offered(*caller))

    async def _described(self, request: Request) -> Response:
        caller = self._gate.caller(request, await self._keys())
        return _json(await self._handing.described(*caller, request.path_params["ref"][:32]))

    async def _piece(self, request: Request) -> Response:
        caller = self._gate.caller(request, await self._keys())
        n, part = _number(request, "n"), _number(request, "part")
        data = await self._handing.piece(*caller, request.path_params["ref"][:32], n, part)
        return Response(data, media_type="application/octet-stream", headers={"cache-control": "no-store"})


def _number(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not _NUMBER.fullmatch(text):
        raise refused("no_share", more="it has no such file or piece")
    return int(text)


def _json(body: JsonObject) -> Response:
    return Response(json_document(body, compact=True), media_type="application/json", headers={"cache-control": "no-store"})
