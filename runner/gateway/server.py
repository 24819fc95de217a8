"""The gateway: the only way out of one container, open for one attempt (design.md §2.4).

Owns the order of checks around a request, the sealing of the door after a refusal by the desk, and what was refused and used.
It decides nothing about a call: the desk does.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TypeVar

from starlette.types import Receive, Scope, Send

from runner.errors import RunnerError
from runner.gateway.allowance import Allowance
from runner.gateway.exchange import Exchange, GoneError
from runner.gateway.history import History
from runner.gateway.listener import Listener
from runner.gateway.peers import Peers
from runner.gateway.purse import Purse, Unbounded, fit, most_input, wanted
from runner.gateway.refusals import DESK_REFUSED, RequestRefusedError, UpstreamError, clean, status_for_cli
from runner.gateway.reply import PING, Reply
from runner.gateway.request import ModelRequest, allowed_betas, read_request
from runner.gateway.sameness import difference
from runner.gateway.tags import quiet_results
from runner.gateway.values import GatewayLimits, Handover, ModelTurn, Reference, TurnDesk, Upstream
from runner.model import Usage

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)
_KEPT_REFUSALS = 50
_MESSAGES, _COUNT = b"/v1/messages", b"/v1/messages/count_tokens"
#: Below this a body is parsed faster than a thread is reached.
_SMALL_BODY = 64 * 1024


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
    ) -> None:
        self._desk, self._reference, self._upstream = desk, reference, upstream
        self._purse: Purse = purse or Unbounded()
        self._limits = limits = limits or GatewayLimits()
        self._history = History()
        self._listener = Listener(directory, self._answer, limits=limits, admit=self._admit)
        self._peers = peers
        self._connects = Allowance(limits.burst, limits.per_second)
        self._intake, self._turn = asyncio.Lock(), asyncio.Lock()
        self._asked: set[asyncio.Task[object]] = set()
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
        if self._asked:
            _, late = await asyncio.wait(self._asked, timeout=self._limits.stop_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send)
        try:
            self._check(exchange)
            if exchange.target == _MESSAGES:
                async with self._turn:
                    await self._messages(exchange)
            else:
                await self._count(exchange)
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
        """One body at a time per container, so that its memory is bounded by one; large ones are parsed off the loop."""
        async with self._intake:
            body = await exchange.body(self._limits)
            if len(body) < _SMALL_BODY:
                return read_request(body, reference=self._reference, limits=self._limits)
            return await asyncio.to_thread(read_request, body, reference=self._reference, limits=self._limits)

    async def _count(self, exchange: Exchange) -> None:
        request = await self._read(exchange)
        self._rewrite(request)
        tokens = await self._upstream.count_tokens(request.body, betas=self._betas(exchange))
        await exchange.answer(200, {"input_tokens": tokens})

    async def _messages(self, exchange: Exchange) -> None:
        request = await self._read(exchange)
        self._compare(request)
        await self._ask(self._desk.check_results(request.results))
        await self._ask(self._desk.open_request(), seal=False)
        self._rewrite(request)
        work = asyncio.ensure_future(self._forward(exchange, request))
        gone = asyncio.ensure_future(exchange.gone())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise GoneError
            await work
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    def _compare(self, request: ModelRequest) -> None:
        """Shut the door on an agent that tells its model other things about itself than its profile says (case 109)."""
        expected = self._reference.expected
        differs = None if expected is None else difference(request.body, expected)
        if differs is not None:
            self._seal(f"cannot trust the agent: {differs}")
            raise RequestRefusedError(DESK_REFUSED, status=403)

    def _rewrite(self, request: ModelRequest) -> None:
        """The conversation as the model is to see it: its own words back, and no tool result in the harness's voice."""
        self._history.restore(request.body["messages"])
        quiet_results(request.body["messages"])

    async def _forward(self, exchange: Exchange, request: ModelRequest) -> None:
        reply = Reply(self._limits)
        betas = self._betas(exchange)
        hold = await self._ask(
            self._purse.reserve(
                most=most_input(request.body),
                count=partial(self._upstream.count_tokens, request.body, betas=betas),
                max_tokens=wanted(request.body, self._limits.max_tokens),
            ),
            seal=False,
        )
        fit(request.body, hold.max_tokens)
        try:
            await self._receive(exchange, request, reply)
        finally:
            self._use(reply)
            await self._ask(self._purse.settle(hold, reply.spent))
        handed = await self._take(reply.turn())
        if request.stream:
            *held, last = reply.release(handed)
            for event in held:
                await exchange.event(event)
            await exchange.event(last, last=True)
        else:
            await exchange.answer(200, reply.message(handed))
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
        handed = await self._ask(self._desk.take_turn(turn))
        if len(handed) != len(turn.tool_uses):
            self._seal("the desk handed over another number of calls than the turn has")
            raise RequestRefusedError(DESK_REFUSED, status=403)
        for tool, given in zip(turn.tool_uses, handed, strict=True):
            self._history.note(tool, given)
        return handed

    async def _ask(self, question: Coroutine[object, object, _T], *, seal: bool = True) -> _T:
        """Ask the desk. A container that hangs up does not interrupt it; a refusal, or a fault, shuts the door."""
        task = asyncio.ensure_future(question)
        self._asked.add(task)
        task.add_done_callback(lambda done: self._answered(done, seal=seal))
        try:
            return await asyncio.shield(task)
        except RunnerError as error:
            self._fail(error.brief)
            raise RequestRefusedError(DESK_REFUSED, status=403) from None

    def _answered(self, task: asyncio.Task[object], *, seal: bool) -> None:
        self._asked.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, RunnerError):
            if seal:
                self._seal(error.brief)
        elif error is not None:
            _LOG.error("the desk failed", exc_info=error)
            self._seal(f"the desk failed: {type(error).__name__}")

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
            self._note_refusal("a process that is not the container's knocked")
        else:
            return True
        return False

    def _note_refusal(self, why: str) -> None:
        self._refused += 1
        self._refusals.append(clean(why))
        if self._refused == self._limits.refusals:
            self._seal("the container was refused too often; its gateway was shut")
            self._listener.shut()
