"""The gateway: the only way out of one container, open for one attempt (design.md §2.4).

Owns the order of checks around a request, the sealing of the door after a refusal by the desk, and what was refused and used.
It decides nothing about a call: the desk does.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TypeVar

from starlette.types import Receive, Scope, Send

from runner.gateway.allowance import Allowance
from runner.gateway.asking import Asking
from runner.gateway.comparing import Comparing
from runner.gateway.counting import check_counted
from runner.gateway.exchange import Exchange, GoneError
from runner.gateway.heavy import beside
from runner.gateway.history import History
from runner.gateway.listener import Listener
from runner.gateway.onrecord import marked
from runner.gateway.peers import Peers, who
from runner.gateway.purse import Purse, Unbounded, fit, most_input, wanted
from runner.gateway.refusals import DESK_REFUSED, RequestRefusedError, UpstreamError, clean, status_for_cli
from runner.gateway.reply import PING, Reply, own_name
from runner.gateway.request import ModelRequest, allowed_betas, read_request
from runner.gateway.sameness import without_billing
from runner.gateway.spoken import Spoken
from runner.gateway.tags import quiet_results
from runner.gateway.till import Till
from runner.gateway.values import GatewayLimits, Handover, ModelTurn, Reference, TurnDesk, Upstream
from runner.gateway.watch import Nobody, Watch
from runner.model import Usage

_T = TypeVar("_T")
_KEPT_REFUSALS = 50
_MESSAGES, _COUNT = b"/v1/messages", b"/v1/messages/count_tokens"


class Gateway:
    """One attempt's door to the model.

    Args:
        directory: Where `api.sock` is made; mounted read-only into the container.
        desk: Decides about requests, turns and results.
        reference: The model and tool names a request must agree with.
        upstream: Where the model is; not closed by the gateway.
        limits: Caps.
        purse: Keeps the run's books.
        peers: Who may knock; None: whoever reaches the socket, for a door that no agent of a person stands behind.
        watch: Told what shows that something is wrong with the container.
    """

    def __init__(  # noqa: PLR0913 -- one door, all its neighbours
        self,
        *,
        directory: Path,
        desk: TurnDesk,
        reference: Reference,
        upstream: Upstream,
        limits: GatewayLimits | None = None,
        purse: Purse | None = None,
        peers: Peers | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._desk, self._reference, self._upstream = desk, reference, upstream
        self._limits = limits = limits or GatewayLimits()
        self._history = History()
        self._comparing = Comparing(reference.expected)
        self._listener = Listener(directory, self._answer, limits=limits, admit=self._admit, crowded=self._crowd)
        self._peers, self._watch = peers, watch or Nobody()
        self._connects = Allowance(limits.burst, limits.per_second)
        self._turn = asyncio.Lock()
        self._asking = Asking(fail=self._fail, seal=self._seal)
        self._till = Till(purse or Unbounded(), self._asking)
        self._refusals: deque[str] = deque(maxlen=_KEPT_REFUSALS)
        self._refused = 0
        self._sealed = False
        self._failure: str | None = None
        self._usage = Usage()

    @property
    def failure(self) -> str | None:
        """Why the last request got no reply, for the run's failure text; None after one that did."""
        return self._failure

    @property
    def usage(self) -> Usage:
        """What the model was asked and said, whole, cut or refused halfway."""
        return self._usage

    @property
    def refused(self) -> int:
        """How many requests and connections were refused."""
        return self._refused

    @property
    def refusals(self) -> tuple[str, ...]:
        """The last few reasons, in the container's own words at most where quoted."""
        return tuple(self._refusals)

    async def start(self) -> None:
        """Open the socket.

        Raises:
            GatewayError: It cannot be made.
        """
        await self._listener.open()

    async def stop(self) -> None:
        """Remove the socket, end every connection, and give the desk a bounded time to finish what it was asked."""
        self._sealed = True
        await self._listener.close()
        await self._asking.end(self._limits.stop_seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            self._check(exchange)
            async with self._turn:
                await (self._messages if exchange.target == _MESSAGES else self._count)(exchange)
        except RequestRefusedError as error:
            self._note_refusal(f"{exchange.method} {exchange.target[:60]!r}: {error.brief}")
            await exchange.refuse(error.status, error.brief)
        except UpstreamError as error:
            self._fail(error.diagnostics())
            await exchange.refuse(status_for_cli(error), error.brief)
        except (GoneError, asyncio.CancelledError):
            return  # nobody listens any more: the container hung up, or the gateway stops

    def _check(self, exchange: Exchange) -> None:
        """Path and method by exact bytes: no encoding, no absolute form, no host but this one (M6, G3)."""
        if exchange.target not in {_MESSAGES, _COUNT}:
            raise RequestRefusedError("this door has POST /v1/messages and its count_tokens only", status=404)
        if exchange.method != "POST":
            raise RequestRefusedError("this door takes POST only", status=405)
        if self._sealed:
            raise RequestRefusedError(DESK_REFUSED, status=403)
        exchange.check_head(self._limits)

    async def _read(self, exchange: Exchange) -> ModelRequest:
        """Read while it is this request's turn, so that the memory of a container's bodies is bounded by one (M6)."""
        body = await exchange.body(self._limits)
        return await beside(len(body), partial(read_request, body, reference=self._reference, limits=self._limits))

    async def _count(self, exchange: Exchange) -> None:
        request = await self._read(exchange)
        check_counted(request.body)
        await self._asking.ask(self._desk.open_count(), seal=False)
        count = self._upstream.count_tokens(request.body, betas=self._betas(exchange))
        tokens = await _while_there(exchange, count)
        await exchange.answer(200, {"input_tokens": tokens})

    async def _messages(self, exchange: Exchange) -> None:
        request = await self._read(exchange)
        told = await self._compared(request)
        await self._asking.ask(self._desk.check_results(marked(request.results, told)))
        await self._asking.ask(self._desk.open_request(), seal=False)
        most = await beside(request.size, partial(self._prepare, request))
        await _while_there(exchange, self._forward(exchange, request, told, most=most))

    async def _compared(self, request: ModelRequest) -> Spoken:
        """Shut the door on an agent that tells its model what is not so: of itself, or of what was said (case 109)."""
        differs, told = await self._comparing.difference(request)
        if differs is not None:
            self._watch.lie(differs)
            self._seal(f"cannot trust the agent: {differs}")
            raise RequestRefusedError(DESK_REFUSED, status=403)
        return told

    def _prepare(self, request: ModelRequest) -> int:
        """The conversation as the model is to see it: its own words back, and no tool result in the harness's voice.

        Says how many tokens its input cannot exceed.
        """
        without_billing(request.body)
        self._history.restore(request.body["messages"])
        self._comparing.tidy(request)
        quiet_results(request.body["messages"])
        return most_input(request.body)

    async def _forward(self, exchange: Exchange, request: ModelRequest, told: Spoken, *, most: int) -> None:
        reply, betas = Reply(self._limits, name=own_name()), self._betas(exchange)
        hold = await self._till.set_aside(
            most=most,
            count=partial(self._upstream.count_tokens, request.body, betas=betas),
            max_tokens=wanted(request.body, self._limits.max_tokens),
        )
        fit(request.body, hold.max_tokens)
        refused = False
        self._comparing.forwarded(told)
        try:
            await self._receive(exchange, request, reply)
        except UpstreamError:
            refused = True
            raise
        finally:
            self._use(reply)
            self._comparing.replied(reply.given())
            await self._till.settle(hold, reply.spent, refused=refused, most=most)
        handed = await self._take(reply.turn())
        if request.stream:
            *held, last = reply.release(handed)
            self._comparing.replied(reply.given())
            for event in held:
                await exchange.event(event)
            await exchange.event(last, last=True)
        else:
            whole = reply.message(handed)
            self._comparing.replied(reply.given())
            await exchange.answer(200, whole)
        self._failure = None

    async def _receive(self, exchange: Exchange, request: ModelRequest, reply: Reply) -> None:
        """Read the reply to its end, passing on at once what may pass."""
        told = time.monotonic()
        async with self._upstream.send(request.body, betas=self._betas(exchange)) as events:
            async for event in events:
                passing = reply.feed(event)
                if reply.holding and time.monotonic() - told > self._limits.ping_seconds:
                    passing = PING
                if request.stream and passing is not None:
                    told = time.monotonic()
                    await exchange.event(passing)
        if not reply.complete:
            raise UpstreamError("the model's reply was cut before its end")

    async def _take(self, turn: ModelTurn) -> tuple[Handover, ...]:
        handed = await self._asking.ask(self._desk.take_turn(turn))
        if len(handed) != len(turn.tool_uses):
            self._seal("the desk handed over another number of calls than the turn has")
            raise RequestRefusedError(DESK_REFUSED, status=403)
        for tool, given in zip(turn.tool_uses, handed, strict=True):
            self._history.note(tool, given)
        return handed

    def _fail(self, why: str) -> None:
        if not self._sealed:
            self._failure = why

    def _seal(self, why: str) -> None:
        self._sealed = True
        self._failure = why

    def _betas(self, exchange: Exchange) -> tuple[str, ...]:
        return allowed_betas(exchange.header(b"anthropic-beta").decode("latin-1"))

    def _use(self, reply: Reply) -> None:
        seen, more = self._usage, reply.usage
        self._usage = Usage(
            requests=seen.requests + more.requests,
            turns=seen.turns + reply.complete,
            input_tokens=seen.input_tokens + more.input_tokens,
            output_tokens=seen.output_tokens + more.output_tokens,
        )

    def _admit(self, connection: socket.socket) -> bool:
        if not self._connects.take():
            self._note_refusal("too many connections")
        elif self._peers is not None and not self._peers(connection):
            self._watch.stranger(*who(connection))
            self._note_refusal("a process that is not the container's knocked")
        else:
            return True
        return False

    def _crowd(self) -> None:
        self._note_refusal("more connections at once than it has places")

    def _note_refusal(self, why: str) -> None:
        self._refused += 1
        self._refusals.append(clean(why))
        if self._refused == self._limits.refusals:
            self._seal("the container was refused too often; its gateway was shut")
            self._listener.shut()


async def _while_there(exchange: Exchange, work: Coroutine[object, object, _T]) -> _T:
    """Do work for as long as somebody waits for it.

    Raises:
        GoneError: Nobody does any more; the work has been cancelled.
    """
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(exchange.gone())
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise GoneError
        return await working
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)
