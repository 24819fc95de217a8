"""A Messages API double on loopback that misbehaves on demand, and the events such an API sends."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Thread

from runner.model import Json, JsonObject


def text(value: str, *, pieces: Sequence[str] | None = None) -> JsonObject:
    """A text block, streamed as `pieces` if given."""
    shown: list[Json] = [value] if pieces is None else [*pieces]
    return {"type": "text", "text": value, "pieces": shown}


def tool_use(name: str, raw: str, *, identity: str = "toolu_1", pieces: Sequence[str] | None = None) -> JsonObject:
    """A tool use whose input is the JSON text `raw`."""
    shown: list[Json] = [raw] if pieces is None else [*pieces]
    return {"type": "tool_use", "id": identity, "name": name, "raw": raw, "pieces": shown}


def reply_events(*blocks: JsonObject, message: str = "msg_1", stop: str = "end_turn") -> list[JsonObject]:
    """The events of one reply made of `text` and `tool_use` blocks: 10 tokens in, 5 out."""
    start: JsonObject = {
        "id": message,
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    events: list[JsonObject] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        pieces = block["pieces"]
        assert isinstance(pieces, list)
        events.append({"type": "content_block_start", "index": index, "content_block": _opening(block)})
        events += [{"type": "content_block_delta", "index": index, "delta": _delta(block, piece)} for piece in pieces]
        events.append({"type": "content_block_stop", "index": index})
    ending: JsonObject = {"stop_reason": stop, "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]


def sse(*events: JsonObject) -> bytes:
    """Events as bytes of a stream."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _opening(block: JsonObject) -> JsonObject:
    if block["type"] == "text":
        return {"type": "text", "text": ""}
    return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}


def _delta(block: JsonObject, piece: Json) -> JsonObject:
    if block["type"] == "text":
        return {"type": "text_delta", "text": piece}
    return {"type": "input_json_delta", "partial_json": piece}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the double does with one request: status, headers, pieces of body, then `end`, `cut` or `hang`."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    pieces: tuple[bytes, ...] = ()
    ending: str = "end"


def error_answer(status: int, message: str = "no", **headers: str) -> Answer:
    """An error in the API's own form."""
    body = json.dumps({"type": "error", "error": {"type": "some_error", "message": message}}).encode()
    more = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(status=status, headers=(("content-type", "application/json"), *more), pieces=(body,))


def reply_answer(*blocks: JsonObject) -> Answer:
    """A whole reply."""
    return Answer(pieces=(sse(*reply_events(*blocks)),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request as the double got it."""

    target: str
    headers: dict[str, str]
    body: Json


@dataclass(slots=True)
class UpstreamDouble:
    """Gives each answer once, in order; the last one for ever."""

    answers: list[Answer]
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    tls: ssl.SSLContext | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[UpstreamDouble]:
        """Serve on a free loopback port of this event loop."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    @contextmanager
    def in_thread(self) -> Iterator[UpstreamDouble]:
        """Serve from a thread, for tests whose subject is another process."""
        loop = asyncio.new_event_loop()
        thread = Thread(target=loop.run_forever, daemon=True)
        thread.start()
        context = self.serving()
        asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result()
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(_wind_up(context), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(Seen(target=head[0].split(" ")[1], headers=headers, body=json.loads(body)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        lines = [f"HTTP/1.1 {answer.status} X", "connection: close", *(f"{name}: {value}" for name, value in answer.headers)]
        writer.write(("\r\n".join([*lines, "transfer-encoding: chunked"]) + "\r\n\r\n").encode())
        for piece in answer.pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        if answer.ending == "hang":
            await reader.read()
        elif answer.ending == "cut":
            writer.transport.abort()
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()


async def _wind_up(context: object) -> None:
    await context.__aexit__(None, None, None)  # type: ignore[attr-defined]
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
