"""A Messages API over TLS, beyond this machine as far as the upstream can tell: certificates, a proxy, a token, every failure.

The names are made up and lead to loopback. The whole gateway stands in between, so that the books are seen to be right too.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from runner.gateway import Hold, HttpUpstream, Patience, Spent, UpstreamError
from runner.model import JsonObject
from tests.helpers.gateway import Answered, Desk, a_gateway, a_request, ask
from tests.helpers.upstream import Answer, UpstreamDouble, error_answer, reply_answer, reply_events, sse, text, tool_use

HOST = "model.test"
SECRET = "sk-ant-oat-never-told"
QUICK = Patience(connect=5, read=0.4, attempts=3, total=5, first_wait=0.001, longest_wait=0.01)
REQUEST: JsonObject = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "go"}]}
HELLO = reply_answer(text("hello"))
YESTERDAY = datetime.now(UTC) - timedelta(days=1)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Who vouches for the model's upstream."""
    return trustme.CA()


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, authority: trustme.CA) -> None:
    """A supervisor that trusts the authority and has no proxy, and a name that leads here."""
    real = socket.getaddrinfo

    def found(host: Any, *more: Any, **named: Any) -> Any:
        return real("127.0.0.1" if host in {HOST, HOST.encode()} else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def serving(authority: trustme.CA, *answers: Answer, name: str = HOST, not_after: datetime | None = None) -> UpstreamDouble:
    """A double with a certificate for a name."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, not_after=not_after).configure_cert(tls)
    return UpstreamDouble(list(answers), tls=tls)


async def received(
    double: UpstreamDouble, *, key: str | None = SECRET, token: str | None = None
) -> list[JsonObject] | UpstreamError:
    """The events of one request, or the error it ended in."""
    async with double.serving():
        upstream = HttpUpstream(double.url.replace("127.0.0.1", HOST), key=key, token=token, patience=QUICK)
        try:
            async with upstream.send(REQUEST) as events:
                return [event async for event in events]
        except UpstreamError as error:
            return error
        finally:
            await upstream.aclose()


def test_a_certificate_that_is_vouched_for_is_spoken_to(authority: trustme.CA) -> None:
    double = serving(authority, HELLO)
    assert asyncio.run(received(double)) == reply_events(text("hello"))
    assert double.seen[0].headers["x-api-key"] == SECRET


@pytest.mark.parametrize("fault", ["another name", "expired", "nobody's"])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_any_other_certificate_is_told_as_such_and_hears_nothing(authority: trustme.CA, fault: str) -> None:
    """Not asked again either: it would say the same."""
    doubles = {
        "another name": serving(authority, HELLO, name="other.test"),
        "expired": serving(authority, HELLO, not_after=YESTERDAY),
        "nobody's": serving(trustme.CA(), HELLO),
    }
    error = asyncio.run(received(doubles[fault]))
    assert isinstance(error, UpstreamError), error
    assert (error.brief, error.passing) == ("the model's upstream shows a certificate that cannot be trusted", False)
    assert doubles[fault].seen == []


def test_a_token_goes_as_a_bearer_s_with_its_beta_and_as_nothing_else(authority: trustme.CA) -> None:
    double = serving(authority, HELLO)
    asyncio.run(received(double, key=None, token=SECRET))
    headers = double.seen[0].headers
    assert (headers["authorization"], headers["anthropic-beta"]) == (f"Bearer {SECRET}", "oauth-2025-04-20")
    assert [name for name, value in headers.items() if SECRET in value] == ["authorization"]


def test_where_there_is_a_key_the_token_stays_here(authority: trustme.CA) -> None:
    double = serving(authority, HELLO)
    asyncio.run(received(double, key="sk-key", token=SECRET))
    assert double.seen[0].headers["x-api-key"] == "sk-key"
    assert SECRET not in str(double.seen[0].headers)


# --- a proxy ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def a_proxy(upstream: str, *, refuses: bool = False) -> AsyncIterator[tuple[str, list[str]]]:
    """Takes CONNECT and leads to the upstream whatever the name; gives its URL and what it was asked for."""
    asked: list[str] = []
    port = int(upstream.rpartition(":")[2])

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0])
        if refuses:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        else:
            there = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
            there[1].close()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()


@pytest.mark.parametrize(("bypass", "through"), [("", True), ("other.test", True), (HOST, False), ("*", False)])
def test_the_proxy_of_the_environment_is_used_unless_the_environment_says_not_for_this_host(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, bypass: str, through: bool
) -> None:
    """What the proxy learns is a name; key and conversation are between the upstream and us."""
    double = serving(authority, HELLO)

    async def main() -> tuple[object, list[str], str]:
        async with double.serving(), a_proxy(double.url) as (url, asked):
            monkeypatch.setenv("HTTPS_PROXY", url)
            monkeypatch.setenv("NO_PROXY", bypass)
            place = double.url.replace("127.0.0.1", HOST)
            upstream = HttpUpstream(place, key=SECRET, patience=QUICK)
            async with upstream.send(REQUEST) as events:
                found = [event async for event in events]
            await upstream.aclose()
            await asyncio.sleep(0.05)
            return found, asked, place.removeprefix("https://")

    found, asked, place = asyncio.run(main())
    assert (found, asked) == (reply_events(text("hello")), [f"CONNECT {place} HTTP/1.1"] if through else [])


def test_a_proxy_that_refuses_is_told_as_such(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> None:
    double = serving(authority, HELLO)

    async def main() -> str:
        async with double.serving(), a_proxy(double.url, refuses=True) as (url, _):
            monkeypatch.setenv("HTTPS_PROXY", url.replace("//", "//me:proxy-word@"))
            upstream = HttpUpstream(double.url.replace("127.0.0.1", HOST), key=SECRET, patience=replace(QUICK, attempts=1))
            with pytest.raises(UpstreamError) as caught:
                async with upstream.send(REQUEST):
                    pass
            await upstream.aclose()
            return caught.value.diagnostics()

    assert asyncio.run(main()) == "the proxy in front of the model's upstream refused the connection"


# --- every failure, through the gateway, with its books ---------------------------------------------------------------


@dataclass
class Books:
    """A purse that notes what was settled."""

    settled: list[Spent | None] = field(default_factory=list)

    async def reserve(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        del most, count
        return Hold(id="h", max_tokens=max_tokens)

    async def settle(self, hold: Hold, spent: Spent | None) -> None:
        assert hold.id == "h"
        self.settled.append(spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What an upstream does, how often it is asked, what is said, and what is in the books."""

    answers: tuple[Answer, ...]
    asked: int
    said: str
    settled: Spent | None = None


BEGUN = sse(*reply_events(text("hello"))[:2])
CALLED = sse(*reply_events(tool_use("Read", "{}"))[:3])
CUT = Spent(input_tokens=10, output_tokens=1, complete=False)
SLOW = tuple(bytes([byte]) for byte in sse(*reply_events(text("slow"))))
FAILURES: Mapping[str, Failure] = {
    "401": Failure(answers=(error_answer(401, f"bad {SECRET}"),), asked=1, said="answered 401: bad ***"),
    "413": Failure(answers=(error_answer(413, "too large"),), asked=1, said="answered 413: too large"),
    "429": Failure(answers=(error_answer(429, "slow down", retry_after="30"),), asked=3, said="answered 429: slow down"),
    "500": Failure(answers=(error_answer(500, "oops"),), asked=3, said="answered 500: oops"),
    "529": Failure(answers=(error_answer(529, "Overloaded"),), asked=3, said="answered 529: Overloaded"),
    "silent": Failure(answers=(Answer(ending="hang"),), asked=3, said="stayed silent too long"),
    "cut before": Failure(answers=(Answer(ending="cut"),), asked=3, said="broke the connection"),
    "cut": Failure(answers=(Answer(pieces=(BEGUN,), ending="cut"),), asked=1, said="broke the connection", settled=CUT),
    "cut in a call": Failure(
        answers=(Answer(pieces=(CALLED,), ending="cut"),), asked=1, said="broke the connection", settled=CUT
    ),
    "stalled": Failure(answers=(Answer(pieces=(BEGUN,), ending="hang"),), asked=1, said="stayed silent too long", settled=CUT),
    "no JSON": Failure(answers=(Answer(pieces=(BEGUN, b"data: {]\n\n")),), asked=1, said="sent what is no JSON", settled=CUT),
    "no stream": Failure(
        answers=(Answer(headers=(("content-type", "text/html"),), pieces=(b"<p>",)),), asked=3, said="sent no event stream"
    ),
    "out of order": Failure(answers=(Answer(pieces=(sse(*reply_events()[1:]),)),), asked=1, said="reply is malformed"),
}


def through_the_gateway(folder: Path, double: UpstreamDouble) -> tuple[Answered, str | None, Books, Desk]:
    """One request of a container, and what came of it on this side."""
    books, desk = Books(), Desk()

    async def main() -> tuple[Answered, str | None]:
        async with double.serving():
            upstream = HttpUpstream(double.url.replace("127.0.0.1", HOST), key=SECRET, patience=QUICK)
            async with a_gateway(folder, upstream, desk, purse=books) as gateway:
                answer = await ask(folder, a_request())
            await upstream.aclose()
            return answer, gateway.failure

    return (*asyncio.run(main()), books, desk)


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_has_its_reason_is_asked_again_only_while_nothing_was_handed_over_and_costs_what_it_cost(
    tmp_path: Path, authority: trustme.CA, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """Issue 7 point 3; M11: a request that never got an answer costs nothing, a cut one is marked as not whole."""
    caplog.set_level(logging.DEBUG)
    case = FAILURES[name]
    double = serving(authority, *case.answers)
    answer, failure, books, desk = through_the_gateway(tmp_path, double)
    assert failure is not None
    assert (case.said in failure, len(double.seen), books.settled) == (True, case.asked, [case.settled]), failure
    assert (desk.turns, b"toolu" in answer.body) == ([], False)
    for shown in (failure, caplog.text, answer.body.decode(), json.dumps(answer.headers)):
        assert SECRET not in shown


@pytest.mark.parametrize(
    "answers", [(HELLO,), (error_answer(529), HELLO), (Answer(pieces=SLOW),)], ids=["fine", "late", "slow"]
)
def test_a_whole_reply_is_settled_once_as_the_upstream_counted_it(
    tmp_path: Path, authority: trustme.CA, answers: tuple[Answer, ...]
) -> None:
    answer, failure, books, desk = through_the_gateway(tmp_path, serving(authority, *answers))
    assert (answer.status, failure, len(desk.turns)) == (200, None, 1)
    assert books.settled == [Spent(input_tokens=10, output_tokens=5)]
