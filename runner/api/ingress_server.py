"""The network's door as a listener: TLS where there is a certificate, few connections, each with an end (issue 8).

Owns the sockets and the life of connections; uvicorn's h11 protocol is driven by the event loop, as in the gateway.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import RequestResponseCycle
from uvicorn.server import ServerState

from runner.api.ingress import NOBODY, Ingress
from runner.api.ingress_gate import Gate
from runner.captures.tally import Tally
from runner.errors import SettingsError
from runner.gateway import TimedProtocol
from runner.render import json_document
from runner.setting_tables import Ingress as Table

if TYPE_CHECKING:
    from runner.api.ingress_service import Handing, Reception

CONNECTIONS, PER_ADDRESS = 192, 32
HEAD_BYTES = 16 * 1024
#: Seconds for a TLS handshake, for the first head, for a whole connection, and between two requests of one.
HANDSHAKE, HEAD, WHOLE, IDLE = 10.0, 10.0, 900.0, 5

#: A stranger can provoke warnings at will, and none is worth a line; an error is a fault of ours.
_LOG = logging.getLogger("runner.api.ingress.wire")
_LOG.setLevel(logging.ERROR)


class _Protocol(TimedProtocol):
    """A connection that is refused over a cap, and is answered alike where it is no HTTP at all."""

    addresses: Counter[str]
    per_address: int
    ingress: Ingress
    given_up = False
    address = ""

    def welcome(self, transport: asyncio.Transport) -> bool:  # noqa: ARG002 - the seam's signature
        self.address = self.client[0] if self.client else ""
        self.addresses[self.address] += 1
        return len(self.connections) <= CONNECTIONS and self.addresses[self.address] <= self.per_address

    def connection_lost(self, exc: Exception | None) -> None:
        self.addresses[self.address] -= 1
        if self.addresses[self.address] <= 0:
            del self.addresses[self.address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.given_up:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own word is not said
        """What cannot be read is a stranger's: counted and slowed as everything of theirs, and answered the same."""
        self.given_up = True
        if (cycle := cast("RequestResponseCycle | None", self.cycle)) is not None:
            cycle.disconnected = True  # whatever still works on this connection's request writes nothing on it
            cycle.message_event.set()
        self.timers += (self.loop.call_later(self.ingress.count("unreadable"), self._answer_nobody),)

    def _answer_nobody(self) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.abort()
            return
        body = json_document(NOBODY, compact=True)
        head = f"HTTP/1.1 404 Not Found\r\ncontent-length: {len(body)}\r\ncontent-type: application/json\r\nConnection: close"
        self.transport.write(f"{head}\r\n\r\n{body}".encode())
        self.transport.close()


class IngressServer:
    """Listens where the settings say.

    Args:
        table: `[ingress]`, with `bind` set.
        ingress: Answers each request.
    """

    def __init__(self, table: Table, ingress: Ingress) -> None:
        self._table = table
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        self._config = uvicorn.Config(
            ingress.application,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            date_header=False,
            log_config=None,
            access_log=False,
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=IDLE,
        )
        per_address = CONNECTIONS if table.behind_proxy else PER_ADDRESS
        self._over = asyncio.Event()
        shared = {"addresses": Counter(), "per_address": per_address, "ingress": ingress, "over": self._over}
        shared |= {"log": _LOG, "head_seconds": HEAD, "whole_seconds": WHOLE}
        self._kind = type("_CountedProtocol", (_Protocol,), shared)

    async def start(self) -> None:
        """Bind and listen.

        Raises:
            SettingsError: The address cannot be had, or certificate and key cannot be used.
        """
        table = self._table
        context = _tls(table)
        self._config.load()
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connection,
                host=table.host,
                port=table.port,
                backlog=CONNECTIONS,
                ssl=context,
                ssl_handshake_timeout=None if context is None else HANDSHAKE,
            )
        except OSError as error:
            raise SettingsError(
                f"cannot use setting RUNNER_INGRESS.bind: {table.bind}: {error.strerror or error}",
                resolution="choose another port",
            ) from None

    async def stop(self) -> None:
        """Take no further connection, end every one there is, and cancel what answers them."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        self._over.set()
        for connection in list(self._state.connections):
            connection.transport.abort()
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _connection(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self._kind(self._config, self._state, {}, asyncio.get_running_loop())
        return made


async def open_ingress(
    table: Table, reception: Reception, *, handing: Handing, clock: Callable[[], float], tally: Tally
) -> Callable[[], Awaitable[None]]:
    """Listen where the settings say, if they say anywhere; the answer stops it.

    Raises:
        SettingsError: As `IngressServer.start`.
    """
    if table.bind is None:
        return _nothing
    ingress = Ingress(reception, gate=Gate(table.origin, clock=clock), tally=tally)
    ingress.hand_over(handing)
    server = IngressServer(table, ingress)
    await server.start()
    tally.address = table.origin
    return server.stop


async def _nothing() -> None:
    """There is nothing to stop."""


def _tls(table: Table) -> ssl.SSLContext | None:
    if table.certificate is None or table.key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(table.certificate, table.key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"cannot use setting RUNNER_INGRESS.certificate: {error.strerror or error}",
            details=f"{table.certificate}, {table.key}",
            resolution="both are PEM files that the supervisor can read, and belong together",
        ) from None
    return context
