"""The model of a benchmark: plays turns over HTTP, on loopback for the supervisor and on a unix socket for a bare container.

Turn n of a conversation is the number of replies it already holds, so a resumed run goes on where it was. Notes when requests
come, on the clock of the process that measures.
"""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.model import JsonObject
from tests.helpers.upstream import reply_events, sse, text, tool_use

Turns = Sequence[Sequence[JsonObject]]


def say(words: str) -> JsonObject:
    """A turn's text."""
    return text(words)


def use(name: str, **arguments: str) -> JsonObject:
    """A turn's call."""
    return tool_use(name, json.dumps(arguments), identity=f"toolu_{name[-5:]}")


class Model:
    """What both doors share: the script and the times of its requests."""

    def __init__(self) -> None:
        self.turns: Turns = ()
        self.asked: list[float] = []

    def play(self, turns: Turns) -> None:
        """Begin a conversation: from now on requests count from zero."""
        self.turns, self.asked = turns, []

    def answer(self, path: str, body: Any) -> tuple[str, bytes]:
        """Content type and body for one request."""
        if path.partition("?")[0] != "/v1/messages":
            return "application/json", b'{"input_tokens": 10}'
        self.asked.append(time.perf_counter())
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        blocks = self.turns[turn]
        stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        return "text/event-stream", sse(*reply_events(*blocks, message=f"msg_{turn}", stop=stop))

    @contextmanager
    def on_loopback(self) -> Iterator[str]:
        """Serve on a free port; gives the URL."""
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) as server, _serving(server):
            yield f"http://127.0.0.1:{server.server_address[1]}"

    @contextmanager
    def on_socket(self, path: Path) -> Iterator[Path]:
        """Serve on a unix socket that any uid may use."""
        with _UnixServer(str(path), _handler(self)) as server, _serving(server):
            path.chmod(0o666)
            yield path


class _UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    #: The base HTTP handler names its client by address, and a unix client has none.
    server_name, server_port = "gateway", 0

    def get_request(self) -> tuple[Any, Any]:
        request, _ = super().get_request()
        return request, ("gateway", 0)


def _handler(model: Model) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            kind, answer = model.answer(self.path, body)
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_HEAD(self) -> None:
            """The CLI looks whether anybody is there."""
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silence: a line per request would be part of what is measured."""

    return Handler


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
