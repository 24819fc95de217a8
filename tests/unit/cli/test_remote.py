"""send --to and get: the sender's side, against a real door, with a network that fails (issue 8 point 2)."""

from __future__ import annotations

import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from runner.api import courier
from runner.api.courier import Courier
from runner.api.outbox import Outbox
from runner.captures import ed25519, keyfile
from runner.captures.ed25519 import SecretKey
from runner.captures.refusals import REFUSALS
from runner.errors import DeliveryError, RunnerError, SupervisorUnavailableError, UsageError
from runner.store import captures, pausing
from tests.helpers.door import Door, a_body, a_door, free_port, listening
from tests.helpers.stored import ANNA
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
CAPTURE = "c_0123456789abcdef"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    import time

    with a_door(tmp_path, now=time.time()) as door:
        yield door


@pytest.fixture
def maria(door: Door, tmp_path: Path) -> SecretKey:
    key = door.meet()
    keyfile.write(tmp_path / "maria.key", key)
    return key


def a_courier(door: Door, key: SecretKey, rests: list[float] | None = None) -> Courier:
    waited: list[float] = [] if rests is None else rests
    return Courier(door.origin, key, ca=None, say=lambda _: None, rest=waited.append)


def sent(door: Door, key: SecretKey, outbox: Outbox, body: bytes | None = None, rests: list[float] | None = None) -> str:
    with a_courier(door, key, rests) as one:
        found = one.send(body or a_body(), agent="tester", outbox=outbox, key_file="maria.key")
    return str(found.capture)


def stored(door: Door) -> list[str]:
    with door.store.reading() as conn:
        return [line.id for line in captures.listing(conn)]


def test_a_capture_is_sent_and_asked_about_from_the_command_line(
    door: Door, maria: SecretKey, run: Run, tmp_path: Path
) -> None:
    """cli.md: no supervisor of one's own, a receipt, and `get` knows where it went."""
    key = ("--key", str(tmp_path / "maria.key"))
    done = run("send", "--to", door.origin, *key, "tester", "--note", "look", "--json")
    assert done.code == 0, done.err
    (capture,) = stored(door)
    assert done.json == {"capture": capture, "state": "received", "to": door.origin, "agent": "tester"}
    assert run("get", capture, "--json").json == {"capture": capture, "state": "received", "reply": None}
    assert run("get", capture, "--to", door.origin, *key).out == f"{capture} is received\n"
    assert run("get", "c_0123456789abcdef").code == 2
    assert run("get", "c_0123456789abcdef", "--to", door.origin, *key).code == 3
    said = run("send", "--to", door.origin, *key, "tester", "--note", "look")
    assert (said.code, len(stored(door))) == (0, 2)
    assert "runner get" in said.err


@pytest.mark.parametrize(
    ("agent", "code", "says"), [("nobody", 7, "no such agent for this key"), ("Not an agent", 2, "cannot take the capture")]
)
def test_a_refusal_is_told_with_its_exit_code(
    door: Door, maria: SecretKey, run: Run, tmp_path: Path, agent: str, code: int, says: str
) -> None:
    done = run("send", "--to", door.origin, "--key", str(tmp_path / "maria.key"), agent, "--note", "x")
    assert (done.code, says in done.err, stored(door)) == (code, True, [])


def test_every_reason_has_words_of_our_own_and_an_exit_code_of_the_contract() -> None:
    assert all(why.exit_code in range(1, 10) and why.says and why.hint for why in REFUSALS.values())


def test_a_key_that_is_not_known_there_hears_nothing_more(door: Door, run: Run, tmp_path: Path) -> None:
    keyfile.write(tmp_path / "new.key", ed25519.make())
    done = run("send", "--to", door.origin, "--key", str(tmp_path / "new.key"), "tester", "--note", "x")
    assert (done.code, "does not take it from this key" in done.err) == (7, True)
    assert run("send", "--to", door.origin, "--key", str(tmp_path / "none.key"), "tester", "--note", "x").code == 2
    assert run("send", "--to", "ftp://x", "--key", str(tmp_path / "new.key"), "tester", "--note", "x").code == 2


def test_a_large_capture_is_asked_about_before_it_is_uploaded(
    door: Door, maria: SecretKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checked before upload: a no costs no bytes."""
    asked: list[str] = []
    real = courier.Courier._ask
    monkeypatch.setattr(
        courier.Courier,
        "_ask",
        lambda self, method, path, *rest: asked.append(f"{method} {path[:18]}") or real(self, method, path, *rest),
    )
    outbox = Outbox(tmp_path / "mine")
    big = a_body("x" * 3000, text="y" * 30_000)
    with door.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=door.now)
    with pytest.raises(DeliveryError, match="paused"):
        sent(door, maria, outbox, big)
    assert asked == ["GET /v1/captures/check"]
    with door.store.begin() as conn:
        pausing.resume(conn, who=ANNA, now=door.now)
    assert sent(door, maria, outbox, big) in stored(door)
    assert asked[1:] == ["GET /v1/captures/check", "POST /v1/captures"]


def test_a_side_that_does_not_hold_a_question_is_asked_after_ever_longer_pauses(
    maria: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers `received` at once would else be asked as fast as the network goes."""
    states = iter([*["received"] * 8, "answered"])
    asked: list[str] = []

    def answer(_: Courier, method: str, path: str, *__: object) -> dict[str, object]:
        asked.append(f"{method} {path}")
        return {"capture": CAPTURE, "state": next(states), "reply": None}

    monkeypatch.setattr(Courier, "_ask", answer)
    rests: list[float] = []
    with Courier("http://127.0.0.1:1", maria, ca=None, say=lambda _: None, rest=rests.append) as one:
        assert one.outcome(CAPTURE, waiting=lambda: None)["state"] == "answered"
    assert rests == [0, 1, 2, 4, 8, 16, 30, 30]
    assert asked == [f"GET /v1/captures/{CAPTURE}", *[f"GET /v1/captures/{CAPTURE}?wait=20"] * 8]


class Flaky:
    """A relay in front of the door that drops answers: the capture arrives and its sender never hears so."""

    def __init__(self, target: str, drops: int) -> None:
        host, _, port = target.rpartition("//")[2].partition(":")
        self.target, self.drops = (host, int(port)), drops
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, socket.create_connection(self.target) as onward:
                onward.sendall(whole(client))
                answer = whole(onward)
                if self.drops:
                    self.drops -= 1
                else:
                    client.sendall(answer)


def whole(connection: socket.socket) -> bytes:
    """One message, by its content-length."""
    data = b""
    while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < length(data):
        data += connection.recv(65536)
    return data


def length(data: bytes) -> int:
    for line in data.partition(b"\r\n\r\n")[0].split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def test_answers_that_are_lost_never_make_a_second_capture(door: Door, maria: SecretKey, tmp_path: Path) -> None:
    """Retry that never sends twice: with backoff, and a new signature under the same key for the capture."""
    port, rests = free_port(), list[float]()
    relay = Flaky(f"http://127.0.0.1:{port}", drops=2)
    with listening(door, bind=f"127.0.0.1:{port}", public_url=relay.address):
        door.origin = relay.address
        capture = sent(door, maria, Outbox(tmp_path / "mine"), rests=rests)
    relay.listener.close()
    assert stored(door) == [capture]
    assert rests == [1.0, 2.0]


def test_a_command_that_died_before_its_receipt_sends_the_same_capture_when_it_is_run_again(
    door: Door, maria: SecretKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = Outbox(tmp_path / "mine")
    monkeypatch.setattr(Outbox, "arrived", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sent(door, maria, outbox)
    monkeypatch.undo()
    first = stored(door)
    assert sent(door, maria, Outbox(tmp_path / "mine")) == first[0]
    assert stored(door) == first
    assert sent(door, maria, outbox) != first[0], "after its receipt the same words are another capture"
    assert len(stored(door)) == 2


def test_nobody_there_is_unavailable_after_some_patience(tmp_path: Path) -> None:
    rests: list[float] = []
    one = Courier(f"http://127.0.0.1:{free_port()}", ed25519.make(), ca=None, say=lambda _: None, rest=rests.append)
    with one, pytest.raises(SupervisorUnavailableError, match="cannot reach"):
        one.send(a_body(), agent="tester", outbox=Outbox(tmp_path / "mine"), key_file="k")
    assert rests == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_a_short_rate_is_waited_for_and_a_long_one_told(door: Door, maria: SecretKey, tmp_path: Path) -> None:
    door.reception.per_hour = 1
    outbox, rests = Outbox(tmp_path / "mine"), list[float]()
    sent(door, maria, outbox)
    with pytest.raises(DeliveryError) as refused:
        sent(door, maria, outbox, a_body("2"), rests)
    assert (refused.value.code, refused.value.retry_after, rests) == ("rate", 3600, [])


@pytest.mark.parametrize(
    ("content", "status", "kind"),
    [
        (b"<html>", 200, RunnerError),
        (b"<html>", 502, DeliveryError),
        (b'{"error": {"code": "made-up", "message": "\\u001b[2J"}}', 400, RunnerError),
        (b'{"error": "x"}', 400, RunnerError),
        (b"[]", 200, RunnerError),
        (b'{"error": {"code": "rate", "message": "pay me at http://evil", "retry_after": "soon"}}', 429, DeliveryError),
    ],
)
def test_what_the_other_side_says_is_data(content: bytes, status: int, kind: type[RunnerError]) -> None:
    with pytest.raises(kind) as raised:
        courier._read(content, status=status)
    assert "\x1b" not in raised.value.brief
    assert isinstance(getattr(raised.value, "retry_after", None), int | None)


def test_the_outbox_is_private_and_a_damaged_entry_is_told(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "mine")
    entry = {"to": "https://a", "agent": "x", "fingerprint": "f", "digest": "d", "key_file": "k"}
    begun = outbox.begin(**entry)
    assert outbox.begin(**entry) == begun
    (file,) = (tmp_path / "mine/sent").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.write_text("{")
    with pytest.raises(UsageError, match="damaged"):
        outbox.begin(**entry)
    assert outbox.receipt("../../etc/passwd") is None


def test_a_certificate_nobody_vouches_for_is_refused_at_once_and_clearly(tmp_path: Path) -> None:
    """Certificate errors are clear; `--ca` trusts one that was handed over."""
    import ssl

    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(2):
            client, _ = listener.accept()
            try:
                with context.wrap_socket(client, server_side=True) as wrapped:
                    wrapped.recv(65536)
                    wrapped.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            except OSError:
                client.close()

    threading.Thread(target=serve, daemon=True).start()
    to, key, rests = f"https://localhost:{listener.getsockname()[1]}", ed25519.make(), list[float]()
    one = Courier(to, key, ca=None, say=lambda _: None, rest=rests.append)
    with one, pytest.raises(SupervisorUnavailableError, match="cannot trust https://localhost") as raised:
        one.state("c_0123456789abcdef")
    assert "--ca" in str(raised.value.resolution)
    assert rests == []
    with Courier(to, key, ca=tmp_path / "ca.pem", say=lambda _: None, rest=rests.append) as one:
        assert one.state("c_0123456789abcdef") == {}
    with pytest.raises(UsageError, match="--ca"):
        Courier(to, key, ca=tmp_path / "none.pem", say=lambda _: None)
    listener.close()
