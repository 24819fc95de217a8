"""Family: the socket by every odd request. Each is refused, reaches no upstream, and leaves the door working (M6, G3, F)."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from runner.gateway import SOCKET_NAME, GatewayLimits
from tests.helpers.gateway import MemoryUpstream, a_gateway, a_request, ask, raw, request_bytes
from tests.helpers.upstream import reply_events, text

BODY = json.dumps(a_request()).encode()
GOOD = request_bytes(BODY)
HEAD, _, _ = GOOD.partition(b"\r\n\r\n")


def line(first: str, body: bytes = BODY) -> bytes:
    """A good request under another first line."""
    return first.encode() + b"\r\n" + HEAD.split(b"\r\n", 1)[1] + b"\r\n\r\n" + body


def headed(*extra: str, without: str | None = None, body: bytes = BODY) -> bytes:
    """A good request with more headers, or one less."""
    lines = [item for item in HEAD.split(b"\r\n") if without is None or not item.startswith(without.encode())]
    return b"\r\n".join([*lines, *(item.encode() for item in extra)]) + b"\r\n\r\n" + body


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


ODD: dict[str, bytes] = {
    # Another operation, another host
    "the Files API with the attacker's key": line("POST /v1/files HTTP/1.1"),
    "batches": line("POST /v1/messages/batches HTTP/1.1"),
    "models": line("GET /v1/models HTTP/1.1", b""),
    "a query that is a path": line("POST /?/v1/messages HTTP/1.1"),
    "an absolute target": line("POST http://api.example.org/v1/messages HTTP/1.1"),
    "an absolute target of our own host": line("POST http://gateway/v1/messages HTTP/1.1"),
    "a relayed CONNECT": line("CONNECT api.example.org:443 HTTP/1.1", b""),
    "OPTIONS of everything": line("OPTIONS * HTTP/1.1", b""),
    "an encoded path": line("POST /v1/%6dessages HTTP/1.1"),
    "a path with dots": line("POST /v1/files/../messages HTTP/1.1"),
    "a doubled slash": line("POST //v1/messages HTTP/1.1"),
    "a trailing slash": line("POST /v1/messages/ HTTP/1.1"),
    "a path parameter": line("POST /v1/messages;x=1 HTTP/1.1"),
    "a fragment": line("POST /v1/messages#x HTTP/1.1"),
    "another case": line("POST /V1/Messages HTTP/1.1"),
    "GET": line("GET /v1/messages HTTP/1.1", b""),
    "HEAD": line("HEAD /v1/messages HTTP/1.1", b""),
    "a method in small letters": line("post /v1/messages HTTP/1.1"),
    "TRACE": line("TRACE /v1/messages HTTP/1.1", b""),
    # Heads two readers would read differently
    "two lengths": headed("content-length: 1"),
    "a length and chunks": headed("transfer-encoding: chunked", body=chunked(BODY)),
    "chunks": headed("transfer-encoding: chunked", without="content-length", body=chunked(BODY)),
    "an obscured chunked": headed("transfer-encoding: xchunked", body=chunked(BODY)),
    "a length, and what is said to be chunks and is none": headed("transfer-encoding: chunked", body=BODY),
    "a good head, and what is said to be chunks and is none": headed("transfer-encoding: chunked", without="content-length"),
    "a transfer-encoding after a tab": headed("transfer-encoding:\tchunked", without="content-length", body=chunked(BODY)),
    "no length": headed(without="content-length"),
    "a negative length": headed("content-length: -1", without="content-length"),
    "a signed length": headed(f"content-length: +{len(BODY)}", without="content-length"),
    "a length in words": headed("content-length: five", without="content-length"),
    "a huge length": headed("content-length: 99999999999999999999", without="content-length"),
    "a folded header": headed("x-a: b\r\n c: d", "transfer-encoding : chunked"),
    "a blank before the colon": headed("content-length : 5", without="content-length"),
    "a NUL in a header": headed("x-a: b\0c"),
    "a bare CR in a header": headed("x-a: b\rtransfer-encoding: chunked"),
    "two hosts": headed("host: api.example.org"),
    "no host": headed(without="host"),
    "a host with a path": headed("host: gateway/v1", without="host"),
    "a host with a user": headed("host: a@gateway", without="host"),
    "an empty host": headed("host: ", without="host"),
    "an upgrade to websocket": headed(
        "connection: upgrade", "upgrade: websocket", "sec-websocket-key: eA==", "sec-websocket-version: 13"
    ),
    "an upgrade to h2c": headed("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABk"),
    "an expectation": headed("expect: 100-continue"),
    "an odd expectation": headed("expect: 200-ok"),
    "a gzipped body": headed("content-encoding: gzip"),
    "another type": headed("content-type: text/plain", without="content-type"),
    "a form": headed("content-type: multipart/form-data; boundary=x", without="content-type"),
    "another charset": headed("content-type: application/json; charset=utf-16", without="content-type"),
    "a head without end": b"POST /v1/messages HTTP/1.1\r\n" + b"x-a: b\r\n" * 10_000,
    "one endless line": b"POST /" + b"a" * 100_000,
    "HTTP/2 from the start": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": b"GET /v1/messages\r\n\r\n",
    "HTTP/3.0": line("POST /v1/messages HTTP/3.0"),
    "a TLS hello": bytes.fromhex("16030102000100" + "01fc0303") + b"\0" * 100,  # G4: an https base URL
    "HTTP/1.0": line("POST /v1/messages HTTP/1.0"),
    "noise": bytes(range(256)),
    "blank lines only": b"\r\n" * 1000,
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_request_is_refused_and_the_next_good_one_served(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    upstream = MemoryUpstream(reply_events(text("fine")))

    async def main() -> tuple[bytes, int]:
        async with a_gateway(tmp_path, upstream, limits=GatewayLimits(head_seconds=0.3, body_seconds=0.3)):
            odd = await raw(tmp_path, ODD[name])
            before = len(upstream.requests)
            good = await ask(tmp_path, a_request())
        assert good.status == 200
        return odd, before

    odd, asked = asyncio.run(main())
    status = odd.split(b" ")[1][:3] if odd else b"cut"
    assert (asked, status in {b"cut", b"400", b"403", b"404", b"405", b"411", b"413", b"415"}) == (0, True), odd
    assert [entry for entry in caplog.records if entry.name.startswith(("uvicorn", "runner"))] == []


def test_what_is_smuggled_behind_a_request_is_never_read(tmp_path: Path) -> None:
    """One request per connection: a second one behind the first is no request."""
    upstream = MemoryUpstream(reply_events(text("fine")))

    async def main() -> bytes:
        async with a_gateway(tmp_path, upstream):
            return await raw(tmp_path, GOOD + GOOD + line("POST /v1/files HTTP/1.1"))

    answer = asyncio.run(main())
    assert (answer.count(b"HTTP/1.1 "), len(upstream.requests)) == (1, 1)
    assert b"connection: close" in answer.lower()


def test_a_body_over_the_cap_is_refused_by_its_length_and_never_read(tmp_path: Path) -> None:
    upstream = MemoryUpstream([])

    async def main() -> bytes:
        async with a_gateway(tmp_path, upstream, limits=GatewayLimits(body_bytes=1000)):
            return await raw(tmp_path, headed("content-length: 1001", without="content-length", body=b""))

    assert asyncio.run(main()).startswith(b"HTTP/1.1 413 ")
    assert upstream.requests == []


@pytest.mark.parametrize("sent", [b"", GOOD[:20], HEAD, HEAD + b"\r\n\r\n" + BODY[:10]])
def test_a_request_that_never_ends_is_ended(tmp_path: Path, sent: bytes) -> None:
    """A slow writer holds a place for a bounded time only."""

    async def main() -> bytes:
        async with a_gateway(tmp_path, MemoryUpstream([]), limits=GatewayLimits(head_seconds=0.2, body_seconds=0.2)):
            return await raw(tmp_path, sent)

    answer = asyncio.run(main())
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


def test_a_reader_that_never_reads_is_ended(tmp_path: Path) -> None:
    big = text("x" * 100, pieces=["x" * 60_000] * 100)
    upstream = MemoryUpstream(reply_events(big))

    async def main() -> None:
        async with a_gateway(tmp_path, upstream, limits=GatewayLimits(request_seconds=0.5)):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME), limit=1024)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(GOOD)
            await upstream.asked.wait()
            upstream.events = reply_events(text("fine"))
            await asyncio.sleep(0.7)
            assert (await ask(tmp_path, a_request())).status == 200
            assert upstream.closed == 2
            writer.close()
            del reader

    asyncio.run(main())


def test_connections_over_the_cap_are_ended_unheard_and_the_rest_work(tmp_path: Path) -> None:
    upstream = MemoryUpstream(reply_events(text("fine")))

    async def main() -> tuple[int, int]:
        async with a_gateway(tmp_path, upstream, limits=GatewayLimits(connections=4, burst=1000)):
            idle = [await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME)) for _ in range(3)]
            served = (await ask(tmp_path, a_request())).status
            idle.append(await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME)))
            extra = await raw(tmp_path, GOOD)
            for _, writer in idle:
                writer.close()
            return served, len(extra)

    assert asyncio.run(main()) == (200, 0)


def test_a_flood_is_slowed_and_then_shuts_the_door_for_good(tmp_path: Path) -> None:
    limits = GatewayLimits(burst=5, per_second=0.001, refusals=20)

    async def main() -> tuple[list[bytes], str | None, int, bool]:
        async with a_gateway(tmp_path, MemoryUpstream([]), limits=limits) as gateway:
            answers = []
            for _ in range(25):
                try:
                    answers.append(await raw(tmp_path, line("GET / HTTP/1.1", b"")))
                except FileNotFoundError:
                    break
            return answers, gateway.failure, len(gateway.refusals), (tmp_path / SOCKET_NAME).exists()

    answers, failure, kept, there = asyncio.run(main())
    assert (len(answers), sum(bool(answer) for answer in answers)) == (20, 5)
    assert (failure, kept, there) == ("the container was refused too often; its gateway was shut", 20, False)


def test_what_the_container_wrote_is_kept_short_and_printable(tmp_path: Path) -> None:
    """Invariant 8: a refusal is shown to people."""
    target = "/" + "\x7f" * 500

    async def main() -> tuple[str, ...]:
        async with a_gateway(tmp_path, MemoryUpstream([])) as gateway:
            await ask(tmp_path, {**a_request(), "\x1b[31m\u202e" + "x" * 5000: 1})
            await raw(tmp_path, line(f"POST {target} HTTP/1.1"))
            return gateway.refusals

    for refusal in asyncio.run(main()):
        assert len(refusal) <= 300
        assert refusal.isprintable()
