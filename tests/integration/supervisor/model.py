"""A model that many scripted runs talk to at once, and that remembers what it was asked: a Messages API on loopback."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from runner.model import JsonObject
from tests.helpers.upstream import reply_events, sse

Turns = Sequence[Sequence[JsonObject]]


class Model:
    """Plays turn n of a script to a conversation with n replies in it; scripts are told apart by the model's name."""

    def __init__(self) -> None:
        self.scripts: dict[str, Turns] = {}
        self.asked: defaultdict[str, list[list[JsonObject]]] = defaultdict(list)
        self.thinks_at: dict[str, int] = {}  #: turns before which a model thinks until `go` is set
        self.go = Event()
        self.url = ""
        self._lock = Lock()
        self._replies = 0

    @contextmanager
    def serving(self) -> Iterator[Model]:
        """Answer requests until the end of the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def thinks(self, agent: str, turn: int) -> bool | None:
        """Whether the agent's model has been asked for that turn; None: not yet."""
        with self._lock:
            asked = self.asked[f"model-{agent}"]
            return any(sum(one["role"] == "assistant" for one in messages) == turn for messages in asked) or None

    def answer(self, request: JsonObject) -> bytes:
        """The next turn of the conversation that a request shows."""
        name: Any = request["model"]
        messages: Any = request["messages"]
        with self._lock:
            self.asked[name].append(messages)
            self._replies += 1
            number = self._replies
        turns = self.scripts[name]
        turn = sum(message["role"] == "assistant" for message in messages)
        if self.thinks_at.get(name) == turn:
            self.go.wait(60)
        blocks = turns[turn] if turn < len(turns) else [{"type": "text", "text": "done", "pieces": ["done"]}]
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        return sse(*reply_events(*blocks, message=f"msg_{number}", stop=stop))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                data = b'{"input_tokens": 10}' if self.path.split("?")[0].endswith("count_tokens") else model.answer(request)
                self.send_response(200)
                kind = "application/json" if data.startswith(b"{") else "text/event-stream"
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Silent."""

        return Handler
