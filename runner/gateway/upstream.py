"""A Messages API over HTTP: our own headers, our own key, bounded patience.

Owns retries (only before an event of the reply was given on) and the cleaning of what the upstream says. Never shows the key:
not in a log, a repr or an error (G2). No redirect is followed. What the environment says of proxies and certificates holds for
other machines, never for this one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
import tenacity

from runner.digest import MalformedJsonError, parse_strict
from runner.gateway.refusals import UpstreamError, clean, raise_if_error
from runner.gateway.request import without_reply
from runner.model import JsonObject

_T = TypeVar("_T")

_API_VERSION = "2023-06-01"
_OAUTH_BETA = "oauth-2025-04-20"  #: without it a subscription's token is refused
_ERROR_BYTES = 64 * 1024
_UNTRUSTED = 495  #: what proxies call a certificate that is not accepted; below 500, so that it is final
_DRAIN_SECONDS = 0.25
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_STATUS_WORDS = {401: "the key was not accepted", 403: "the key may not do this", 429: "too many requests", 529: "overloaded"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often an upstream is asked."""

    connect: float = 10.0
    read: float = 120.0  #: silence between two pieces of an answer
    attempts: int = 4
    total: float = 90.0  #: seconds in which another attempt may begin
    first_wait: float = 0.5
    longest_wait: float = 20.0  #: also of a `retry-after`


class HttpUpstream:
    """Any Messages API.

    Args:
        url: Base URL, to which `/v1/messages` is added.
        key: Sent as `x-api-key`; None for an upstream that wants none.
        token: Sent as `authorization` where there is no key.
        patience: Timeouts and retries.
        transport: Replaces the network, for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        token: str | None = None,
        patience: Patience | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._key = key or token
        self._bearer = not key and bool(token)
        self._patience = patience or Patience()
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    def __repr__(self) -> str:
        """Where, never with what key."""
        return f"HttpUpstream({self._url!r}, key={'***' if self._key else None})"

    @asynccontextmanager
    async def send(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> AsyncIterator[AsyncIterator[JsonObject]]:
        """Ask for a streamed reply; entered when its first event has come."""
        async with AsyncExitStack() as stack:
            yield await self._patiently(lambda: self._open(stack, {**request, "stream": True}, betas))

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        """Ask how many input tokens a request has."""
        return await self._patiently(lambda: self._count(without_reply(request), betas))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _patiently(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask again after passing errors, a few times, for a while; the upstream's `retry-after` counts."""
        patience = self._patience
        backoff = tenacity.wait_random_exponential(multiplier=patience.first_wait, max=patience.longest_wait)

        def wait(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.retry_after if isinstance(error, UpstreamError) else None
            return backoff(state) if asked is None else min(asked, patience.longest_wait)

        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(patience.attempts) | tenacity.stop_before_delay(patience.total),
            wait=wait,
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, UpstreamError) and error.passing),
            sleep=asyncio.sleep,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                return await ask()
        raise AssertionError("tenacity ends by returning or raising")

    async def _open(self, stack: AsyncExitStack, request: JsonObject, betas: tuple[str, ...]) -> AsyncIterator[JsonObject]:
        """One attempt, up to the first event; its connection is closed on failure, and with `stack` otherwise."""
        async with AsyncExitStack() as attempt:
            events = self._events(await self._post(attempt, "/v1/messages", body=request, betas=betas))
            attempt.push_async_callback(events.aclose)
            first = await anext(events, None)
            if first is None:
                raise UpstreamError("the model's upstream ended its answer before it began")
            raise_if_error(first)
            stack.push_async_exit(attempt.pop_all())
            return _chain(first, events)
        raise AssertionError("unreachable")

    async def _count(self, request: JsonObject, betas: tuple[str, ...]) -> int:
        async with AsyncExitStack() as stack:
            response = await self._post(stack, "/v1/messages/count_tokens", body=request, betas=betas)
            value = _parse(await _text(response))
        count = value.get("input_tokens")
        if not isinstance(count, int):
            raise UpstreamError("the model's upstream gave no token count")
        return count

    async def _post(self, stack: AsyncExitStack, path: str, *, body: JsonObject, betas: tuple[str, ...]) -> httpx2.Response:
        headers = {"content-type": "application/json", "anthropic-version": _API_VERSION}
        betas = (*betas, _OAUTH_BETA) if self._bearer else betas
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        if self._key is not None:
            headers |= {"authorization": f"Bearer {self._key}"} if self._bearer else {"x-api-key": self._key}
        content = await asyncio.to_thread(_written, body)
        try:
            response = await stack.enter_async_context(
                self._connected().stream("POST", self._url + path, content=content, headers=headers)
            )
            if response.status_code != 200:
                raise self._refused(response, await _text(response))
        except httpx2.HTTPError as error:
            raise _broken(error) from None
        if response.headers.get("content-encoding", "identity") != "identity":
            raise UpstreamError("the model's upstream answered in an encoding nobody asked for", status=400)
        return response

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[JsonObject, None]:
        lines = aiter(httpx2.EventSource(response))
        try:
            async for line in lines:
                if not line.data:
                    continue
                event = _parse(self._hide(line.data))
                yield event
                if event.get("type") == "message_stop":
                    break
        except httpx2.HTTPError as error:
            raise _broken(error) from None
        # Read to the end, so that the connection can be used again.
        with suppress(TimeoutError, httpx2.HTTPError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                async for _ in lines:
                    pass

    def _refused(self, response: httpx2.Response, body: str) -> UpstreamError:
        status = response.status_code
        said = self._hide(_said(body) or _STATUS_WORDS.get(status, response.reason_phrase))
        hint = "check the model key the supervisor was given" if status in {401, 403} else None
        error = UpstreamError(f"the model's upstream answered {status}: {clean(said)}", status=status, resolution=hint)
        error.retry_after = _seconds(response.headers.get("retry-after", ""))
        return error

    def _hide(self, said: str) -> str:
        """An upstream that echoes the key shows it to nobody (G2)."""
        return said.replace(self._key, "***") if self._key else said

    def _connected(self) -> httpx2.AsyncClient:
        if self._client is None:
            patience = self._patience
            self._client = httpx2.AsyncClient(
                headers={"accept-encoding": "identity", "user-agent": "hosted-agent-runner"},
                timeout=httpx2.Timeout(patience.read, connect=patience.connect),
                limits=httpx2.Limits(max_connections=200, max_keepalive_connections=20),
                follow_redirects=False,
                trust_env=not is_loopback(urlsplit(self._url).hostname or ""),
                transport=self._transport,
            )
        return self._client


def _written(body: JsonObject) -> bytes:
    """The body in JSON, written piece by piece: in one the loop would wait for the whole of it."""
    return b"".join(piece.encode() for piece in _JSON.iterencode(body))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _chain(first: JsonObject, rest: AsyncIterator[JsonObject]) -> AsyncIterator[JsonObject]:
    yield first
    async for event in rest:
        yield event


async def _text(response: httpx2.Response) -> str:
    """The start of a body that is no stream; one over the bound is cut, and then is no JSON."""
    data = bytearray()
    try:
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > _ERROR_BYTES:
                break
    except httpx2.HTTPError as error:
        raise _broken(error) from None
    return bytes(data[:_ERROR_BYTES]).decode(errors="replace")


def _parse(text: str) -> JsonObject:
    try:
        value = parse_strict(text)
    except MalformedJsonError as error:
        raise UpstreamError(f"the model's upstream sent what is no JSON: {clean(str(error), 80)}") from None
    if not isinstance(value, dict):
        raise UpstreamError("the model's upstream sent what is no JSON object")
    return value


def _said(body: str) -> str:
    """The message of an error body, or "" where it is no error body."""
    try:
        value = parse_strict(body)
    except MalformedJsonError:
        return ""
    error = value.get("error") if isinstance(value, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def _untrusted(error: BaseException) -> bool:
    """Whether a failure to connect is one of trust, which asking again does not mend."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _seconds(header: str) -> float | None:
    try:
        value = float(header)
    except ValueError:
        return None  # a date: then our own waiting times do
    return value if value >= 0 else None


def _broken(error: httpx2.HTTPError) -> UpstreamError:
    """A broken connection by its kind; the library's own words may hold the URL and are left out."""
    if isinstance(error, httpx2.TimeoutException):
        return UpstreamError("the model's upstream stayed silent too long", status=504)
    if isinstance(error, httpx2.ConnectError) and _untrusted(error):
        return UpstreamError(
            "the model's upstream shows a certificate that cannot be trusted",
            status=_UNTRUSTED,
            resolution="check RUNNER_MODEL, the clock, and SSL_CERT_FILE where a proxy opens the connection",
        )
    if isinstance(error, httpx2.ProxyError):
        return UpstreamError("the proxy in front of the model's upstream refused the connection")
    if isinstance(error, httpx2.ConnectError):
        return UpstreamError("the model's upstream cannot be reached")
    if isinstance(error, httpx2.SSEError):
        return UpstreamError("the model's upstream sent no event stream, or one too large event")
    return UpstreamError("the model's upstream broke the connection")
