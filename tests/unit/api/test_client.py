"""What a command says when the answer is none of the supervisor's own."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from runner.api.client import Client
from runner.errors import RunnerError, SupervisorUnavailableError


def answering(path: Path, answer: bytes) -> threading.Thread:
    """One connection on a socket that is given `answer` whatever it asks."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(1)

    def serve() -> None:
        with server, server.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (b"500 Internal Server Error", SupervisorUnavailableError, "stopped before it answered"),
        (b"200 OK", RunnerError, "not JSON"),
    ],
)
def test_an_answer_cut_short_by_a_stop_is_told_as_one(
    tmp_path: Path, status: bytes, error: type[RunnerError], says: str
) -> None:
    """K2: 9 where the supervisor went away, 1 where it makes no sense."""
    body = b"Internal Server Error"
    thread = answering(tmp_path / "s", b"HTTP/1.1 " + status + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    with Client(tmp_path / "s") as client, pytest.raises(error, match=says) as caught:
        client.get("runs")
    thread.join()
    assert type(caught.value) is error
