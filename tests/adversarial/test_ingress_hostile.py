"""Strangers at the network's door who do not speak HTTP as they should: bounded, ended, and the next good one is served."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from runner.api import ingress, ingress_server
from runner.captures import ed25519
from runner.captures.ed25519 import SecretKey
from runner.store import captures
from tests.helpers.door import Door, a_body, a_door, listening, reason


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(ingress_server, "HEAD", 0.3)
    monkeypatch.setattr(ingress_server, "WHOLE", 5.0)
    monkeypatch.setattr(ingress_server, "IDLE", 1)
    monkeypatch.setattr(ingress_server, "PER_ADDRESS", 4)
    with a_door(tmp_path) as door:
        yield door


@pytest.fixture
def maria(door: Door) -> SecretKey:
    return door.meet()


def dialled(door: Door) -> socket.socket:
    host, _, port = door.origin.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def said(connection: socket.socket) -> bytes:
    """Everything until the other side ends it."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            data += part
    return data


def is_served(door: Door, key: SecretKey) -> None:
    """The door is open to whoever knocks as one should, once there is a place."""
    for _ in range(50):
        with contextlib.suppress(Exception):
            if door.post(key).status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError("nobody is served any more")


def head_of(door: Door, key: SecretKey, body: bytes, *, without: str = "", more: bytes = b"", **changes: str) -> bytes:
    lines = [f"{name}: {value}" for name, value in door.headers(key, body, **changes).items() if name != without]
    host = door.origin.removeprefix("http://")
    return "\r\n".join(["POST /v1/captures HTTP/1.1", f"host: {host}", *lines]).encode() + b"\r\n" + more + b"\r\n"


@pytest.mark.parametrize(
    "knock",
    [
        b"",
        b"\r\n",
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
        b"POST /v1/captures HTTP/1.1\r\nhost: x\r\nx: ",
    ],
)
def test_a_head_that_does_not_come_ends_its_connection(door: Door, maria: SecretKey, knock: bytes) -> None:
    """Slowloris: each byte may be as slow as it likes, the whole head has its time."""
    with dialled(door) as connection:
        connection.sendall(knock)
        said(connection)
    is_served(door, maria)


def test_connections_of_one_address_are_few_and_the_rest_is_ended_unheard(door: Door, maria: SecretKey) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(dialled(door)) for _ in range(12)]
        for connection in held[4:]:
            assert said(connection) == b""
    is_served(door, maria)


@pytest.mark.parametrize(
    "knock",
    [
        b"GET /v1/captures HTTP/1.1\r\nhost: x\r\n" + b"x: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST /v1/captures HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /v1/captures HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nx\0y: 1\r\n\r\n",
        b"\x80\x81\x82 / HTTP/1.1\r\n\r\n",
        b"GET /v1/captures/\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
def test_a_head_that_is_none_or_too_long_is_answered_as_every_stranger_is(door: Door, maria: SecretKey, knock: bytes) -> None:
    """Byte for byte what a stranger is answered, and counted like it; whether the connection lasts is all that differs."""
    with dialled(door) as connection:
        connection.sendall(head_of(door, ed25519.make(), a_body(), more=b"connection: close\r\n") + a_body())
        usual = said(connection).replace(b"Connection: close\r\n", b"")
    before = sum(door.tally._refused.values())
    with dialled(door) as connection:
        connection.sendall(knock)
        assert said(connection).replace(b"Connection: close\r\n", b"") == usual
    assert sum(door.tally._refused.values()) == before + 1
    is_served(door, maria)


@pytest.mark.parametrize("path", ["/v1/captures/", "/v1/captures/check/", "/v1/captures/c_0/", "//evil.example/v1", "*"])
def test_a_place_that_there_is_not_points_nowhere(door: Door, maria: SecretKey, path: str) -> None:
    """No redirect, so no word of the stranger's own in it; the usual answer, counted."""
    for method in ("GET", "POST", "HEAD"):
        with dialled(door) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n".encode())
            answer = said(connection)
        assert answer.startswith(b"HTTP/1.1 404")
        assert b"evil" not in answer
    assert sum(door.tally._refused.values()) == 3


def test_a_flood_of_what_is_no_request_is_slowed(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingress, "FLOOD", 0)
    monkeypatch.setattr(ingress, "FLOOD_REST", 60.0)
    with dialled(door) as connection:
        connection.sendall(b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n" * 3)
        connection.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            assert connection.recv(100) == b""  # the clock of its head may end it, unanswered
    assert sum(door.tally._refused.values()) == 1


def test_a_body_that_breaks_its_own_form_is_answered_once(
    door: Door, maria: SecretKey, caplog: pytest.LogCaptureFixture
) -> None:
    """The request above it is at work meanwhile: what it would answer goes nowhere, and no line of the log comes of it."""
    with dialled(door) as connection:
        connection.sendall(b"POST /v1/captures HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")
        assert said(connection).count(b"HTTP/1.1") == 1
    assert [line for line in caplog.records if line.levelname == "ERROR"] == []
    is_served(door, maria)


def test_a_refused_upload_is_not_read(door: Door, maria: SecretKey) -> None:
    """Checked before the body: the answer comes while the bytes are still to come, and the connection ends with it."""
    body = a_body("x" * 200_000)
    with dialled(door) as connection:
        connection.sendall(head_of(door, maria, body, runner_agent="nobody"))
        answer = said(connection)
    assert b'"not_for_you"' in answer
    assert b"connection: close" in answer.lower()


def test_a_stranger_s_upload_is_not_read_either(door: Door, maria: SecretKey) -> None:
    body = a_body("x" * 200_000)
    with dialled(door) as connection:
        connection.sendall(head_of(door, ed25519.make(), body))
        assert said(connection).startswith(b"HTTP/1.1 404")
    is_served(door, maria)


def test_one_who_waits_to_be_told_is_told_before_it_uploads(door: Door, maria: SecretKey) -> None:
    """Expect: 100-continue: an answer instead of a go-ahead where it is refused."""
    body = a_body()
    with dialled(door) as connection:
        connection.sendall(head_of(door, maria, body, more=b"expect: 100-continue\r\n"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")
        connection.sendall(body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    with dialled(door) as connection:
        connection.sendall(head_of(door, maria, a_body("2"), more=b"expect: 100-continue\r\n", runner_agent="nobody"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 403")


def test_a_body_without_a_length_is_refused_whatever_it_says_it_is(door: Door, maria: SecretKey) -> None:
    """Chunked, and signed over no length: a capture comes whole."""
    body = a_body()
    for more in (b"transfer-encoding: chunked\r\n", b""):
        with dialled(door) as connection:
            connection.sendall(head_of(door, maria, body, without="content-length", more=more) + b"0\r\n\r\n")
            assert b"HTTP/1.1 404" in connection.recv(2000)
    with door.store.reading() as conn:
        assert captures.listing(conn) == ()


def test_a_body_that_trickles_or_stops_is_given_up(door: Door, maria: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingress, "BODY_SECONDS", 0.3)
    body = a_body()
    with dialled(door) as connection:
        connection.sendall(head_of(door, maria, body) + body[:5])
        assert b"503" in said(connection).split(b"\r\n", maxsplit=1)[0]
    with dialled(door) as connection:
        connection.sendall(head_of(door, maria, body) + body[:5])
    is_served(door, maria)
    with door.store.reading() as conn:
        assert len(captures.listing(conn)) == 1


def test_what_is_smuggled_behind_a_request_is_a_request_of_its_own(door: Door, maria: SecretKey) -> None:
    body = a_body()
    second = f"GET /v1/captures/c_{'0' * 16} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    with dialled(door) as connection:
        connection.sendall(head_of(door, maria, body) + body + second)
        answer = b""
        while answer.count(b"HTTP/1.1") < 2:
            answer += connection.recv(65536)
    assert (answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 404")) == (1, 1)


def test_captures_of_the_largest_size_are_parsed_beside_the_loop(door: Door, maria: SecretKey) -> None:
    """Issue 8 bad input: oversized and deeply nested, both within what the wire lets through."""
    deep = b'{"agent": "tester", "note": "x", "text": ' + b"[" * 500_000 + b"}"
    assert reason(door.post(maria, deep)) == "malformed"
    wide = a_body(labels=["x"] * 50_000)
    assert reason(door.post(maria, wide, idempotency_key=hashlib.sha256(wide).hexdigest())) == "malformed"


def test_tls_is_spoken_where_there_is_a_certificate_and_a_plain_word_gets_nothing(
    door: Door, maria: SecretKey, tmp_path: Path
) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with listening(door, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem") as origin:
        plain, door.origin = door.origin, origin
        head, body = door.headers(maria, a_body()), a_body()
        host, _, port = origin.removeprefix("https://").partition(":")
        with socket.create_connection((host, int(port)), timeout=20) as bare:
            bare.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert not said(bare).startswith(b"HTTP")
        with context.wrap_socket(socket.create_connection((host, int(port)), timeout=20), server_hostname=host) as spoken:
            lines = [f"{name}: {value}" for name, value in head.items()]
            spoken.sendall("\r\n".join(["POST /v1/captures HTTP/1.1", f"host: {host}", *lines, "", ""]).encode() + body)
            assert spoken.recv(1000).startswith(b"HTTP/1.1 200")
        door.origin = plain
