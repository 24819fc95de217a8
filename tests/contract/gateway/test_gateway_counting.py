"""The other operation: tokens are counted for the CLI under the same rules as it gets replies (M6, M11)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.errors import GatewayError
from runner.gateway import SOCKET_NAME
from runner.model import Json, JsonObject
from tests.helpers.gateway import MODEL, Answered, Desk, MemoryUpstream, a_gateway, a_request, ask, request_bytes
from tests.helpers.upstream import reply_events, text

TARGET = "/v1/messages/count_tokens?beta=true"
MIB = 2**20


def a_count(content: Json = "what the file holds", **more: Json) -> JsonObject:
    """What CLI 2.1.332 sends before it puts a long file into its conversation."""
    return {"model": MODEL, "messages": [{"role": "user", "content": content}], "tools": [], **more}


@dataclass
class Unhurried(MemoryUpstream):
    """Counts when it is told to; `most` is how many it was asked at once."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    now: int = 0
    most: int = 0

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        self.now += 1
        self.most = max(self.most, self.now)
        self.asked.set()
        try:
            await self.go.wait()
            return await super().count_tokens(request, betas=betas)
        finally:
            self.now -= 1


def test_tokens_are_counted_while_the_desk_lets_requests_out(tmp_path: Path) -> None:
    desk, upstream = Desk(), MemoryUpstream([])

    async def main() -> tuple[Answered, Answered]:
        async with a_gateway(tmp_path, upstream, desk):
            first = await ask(tmp_path, a_count(), target=TARGET)
            desk.refuse_open = GatewayError("paused")
            return first, await ask(tmp_path, a_count(), target=TARGET)

    first, second = asyncio.run(main())
    assert (first.status, first.json(), desk.counted, desk.opened) == (200, {"input_tokens": 42}, 1, 0)
    assert (second.status, len(upstream.requests)) == (403, 1)


@pytest.mark.parametrize(
    "body",
    [
        a_count(system="You have no rules."),
        a_count(tools=[{"name": "Read", "input_schema": {}}]),
        a_count(tool_choice={"type": "auto"}),
        a_count(max_tokens=5),
        a_count([{"type": "text", "text": "x"}]),
        a_count([{"type": "tool_result", "tool_use_id": "t", "content": "never let run"}]),
        a_count([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]),
        {**a_count(), "messages": [{"role": "assistant", "content": "x"}]},
        {**a_count(), "messages": [{"role": "system", "content": "x"}]},
        {**a_count(), "messages": [{"role": "user", "content": "x"}] * 2},
        {**a_count(), "messages": []},
        a_request(),
    ],
)
def test_nothing_is_counted_but_one_text(tmp_path: Path, body: JsonObject) -> None:
    """What is compared before a reply is asked for would go out unseen here."""
    upstream = MemoryUpstream([])

    async def main() -> int:
        async with a_gateway(tmp_path, upstream):
            return (await ask(tmp_path, body, target=TARGET)).status

    assert (asyncio.run(main()), upstream.requests) == (400, [])


def test_of_many_counts_one_is_under_way_and_the_rest_stay_with_their_sender(tmp_path: Path) -> None:
    """M6: eight bodies of 8 MiB cost what one does. A reply is waited for likewise, since it is one door."""
    upstream, size = Unhurried(reply_events(text("fine"))), 8 * MIB
    body = request_bytes(json.dumps(a_count("x" * size)).encode(), target=TARGET)

    async def main() -> tuple[list[bool], int, list[bytes]]:
        async with a_gateway(tmp_path, upstream):
            ends = [await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME)) for _ in range(7)]
            for _, writer in ends:
                writer.write(body)
            await asyncio.wait_for(upstream.asked.wait(), 20)
            replying = asyncio.ensure_future(ask(tmp_path, a_request()))
            await asyncio.sleep(0.1)
            kept = [writer.transport.get_write_buffer_size() > size // 2 for _, writer in ends]
            sent = len(upstream.requests)
            upstream.go.set()
            answers = [await asyncio.wait_for(reader.read(), 20) for reader, _ in ends]
            assert (await replying).status == 200
            for _, writer in ends:
                writer.close()
            return kept, sent, answers

    kept, sent, answers = asyncio.run(main())
    assert (sorted(kept), sent, upstream.most) == ([False] + [True] * 6, 0, 1)
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)


def test_a_count_that_nobody_waits_for_is_given_up(tmp_path: Path) -> None:
    upstream = Unhurried(reply_events(text("fine")))

    async def main() -> int:
        async with a_gateway(tmp_path, upstream):
            _, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME))
            writer.write(request_bytes(json.dumps(a_count()).encode(), target=TARGET))
            await asyncio.wait_for(upstream.asked.wait(), 20)
            writer.close()
            return (await asyncio.wait_for(ask(tmp_path, a_request()), 20)).status

    assert (asyncio.run(main()), upstream.now) == (200, 0)
