"""One request at the container's door and its answer.

Owns what a head may look like, the reading of a body within its bounds, and the two forms of an answer: one JSON object, or a
stream of events.
"""

from __future__ import annotations

import asyncio
import json
import re

from starlette.types import Receive, Scope, Send

from runner.gateway.refusals import RequestRefusedError, error_body
from runner.gateway.values import GatewayLimits
from runner.model import JsonObject

_HOST = re.compile(rb"[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?")
_LENGTH = re.compile(rb"[0-9]{1,10}")
_TYPE = re.compile(rb"application/json(;\s*charset=utf-8)?", re.IGNORECASE)


class GoneError(Exception):
    """The other end hung up; nobody is left to answer."""


class Exchange:
    """One request and its answer. The connection ends with it: nothing to keep alive, nothing to smuggle behind it.

    Args:
        scope: ASGI scope.
        receive: ASGI receive.
        send: ASGI send.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.method = str(scope["method"])
        self.target = bytes(scope["raw_path"])
        self.query = bytes(scope["query_string"])
        self._version = str(scope["http_version"])
        self._headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self.streaming = False

    def header(self, name: bytes) -> bytes:
        """The values of a header, joined by commas."""
        return b",".join(value for key, value in self._headers if key == name)

    def check_head(self, limits: GatewayLimits) -> None:
        """Refuse what the CLI never sends.

        Raises:
            RequestRefusedError: Another HTTP than 1.1; a body of unknown length, encoded or no JSON; an upgrade; an odd host.
        """
        length = self.header(b"content-length")
        if self._version != "1.1":
            raise RequestRefusedError("this door speaks HTTP/1.1")
        if not _HOST.fullmatch(self.header(b"host")):
            raise RequestRefusedError("the host header is malformed")
        if not _LENGTH.fullmatch(length) or self.header(b"transfer-encoding"):
            raise RequestRefusedError("a request needs one content-length and no transfer-encoding", status=411)
        if int(length) > limits.body_bytes:
            raise RequestRefusedError(f"a request is at most {limits.body_bytes} bytes", status=413)
        if any(self.header(name) for name in (b"content-encoding", b"upgrade", b"expect", b"trailer")):
            raise RequestRefusedError("encoded bodies, upgrades, expectations and trailers are not taken")
        if not _TYPE.fullmatch(self.header(b"content-type")):
            raise RequestRefusedError("a request is application/json", status=415)

    async def body(self, limits: GatewayLimits) -> bytes:
        """The body, bounded while it is read.

        Raises:
            RequestRefusedError: Too large or too slow.
            GoneError: The other end hung up.
        """
        data = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                more = True
                while more:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise GoneError
                    data += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(data) > limits.body_bytes:
                        raise RequestRefusedError(f"a request is at most {limits.body_bytes} bytes", status=413)
        except TimeoutError:
            raise RequestRefusedError("the request did not come in time", status=408) from None
        return bytes(data)

    async def gone(self) -> None:
        """Return when the other end hangs up; only after the body has been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, status: int, body: JsonObject) -> None:
        """Answer with one JSON object. `x-should-retry` keeps the CLI from asking again at once."""
        data = json.dumps(body, ensure_ascii=False).encode()
        await self._begin(status, b"application/json", [(b"content-length", str(len(data)).encode())])
        await self._send({"type": "http.response.body", "body": data})

    async def refuse(self, status: int, message: str) -> None:
        """End with an error, in whichever form the answer has begun."""
        if self.streaming:
            await self.event(error_body(status, message), last=True)
        else:
            await self.answer(status, error_body(status, message))

    async def event(self, event: JsonObject, *, last: bool = False) -> None:
        """Send an event of a stream; the first one opens it."""
        if not self.streaming:
            self.streaming = True
            await self._begin(200, b"text/event-stream", [(b"cache-control", b"no-store")])
        data = f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        # Let the loop see a client that is gone: writing on to it costs a warning each, as many as it likes.
        await asyncio.sleep(0)

    async def _begin(self, status: int, kind: bytes, more: list[tuple[bytes, bytes]]) -> None:
        headers = [(b"content-type", kind), (b"connection", b"close"), (b"x-should-retry", b"false"), *more]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
