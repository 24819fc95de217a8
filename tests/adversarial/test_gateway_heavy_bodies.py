"""Family: bodies made to cost the supervisor time or memory. Refused before they are parsed, off the loop (M6)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.helpers.gateway import MemoryUpstream, a_gateway, a_request, ask
from tests.helpers.upstream import reply_events, text

MIB = 2**20


def within(content: bytes) -> bytes:
    """A request whose one message holds `content` as its raw JSON."""
    head = json.dumps({key: value for key, value in a_request().items() if key != "messages"}).encode()
    return head[:-1] + b', "messages": [{"role": "user", "content": ' + content + b"}]}"


HEAVY: dict[str, bytes] = {
    "empty lists": within(b"[" + b"[]," * (4 * MIB) + b"[]]"),
    "deep lists": within(b"[" * (8 * MIB)),
    "deep objects": within(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "tiny texts": within(b"[" + b'"",' * (4 * MIB) + b'""]'),
    "many keys": within(b"{" + b",".join(b'"%d":1' % number for number in range(400_000)) + b"}"),
    "a long number": within(b"1" * (4 * MIB)),
    "a long fraction": within(b"0." + b"1" * (4 * MIB)),
    "a long exponent": within(b"1e" + b"9" * (4 * MIB)),
    "an endless text": within(b'"' + b"a" * (8 * MIB)),
    "escapes": within(b'"' + b"\\ud83d" * MIB + b'"'),
    "blanks": within(b" " * (30 * MIB)),
    "many messages": within(b'"a"}, ' + b'{"role": "user", "content": "a"}, ' * 60_000 + b'{"role": "user", "content": "a"'),
    "many blocks": within(b"[" + b'{"type":"text","text":""},' * 60_000 + b'{"type":"text","text":""}]'),
}


@pytest.mark.parametrize("name", HEAVY)
def test_a_heavy_body_is_refused_while_the_loop_goes_on(tmp_path: Path, name: str) -> None:
    upstream = MemoryUpstream(reply_events(text("fine")))

    async def main() -> tuple[int, int]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.001)
                beats += 1

        async with a_gateway(tmp_path, upstream):
            beating = asyncio.ensure_future(beat())
            status = (await ask(tmp_path, HEAVY[name])).status
            beating.cancel()
            assert (await ask(tmp_path, a_request())).status == 200
        return status, beats

    status, beats = asyncio.run(main())
    assert status in {400, 413}
    assert (len(upstream.requests), beats > 0) == (1, True)


def test_a_large_honest_body_is_forwarded_whole(tmp_path: Path) -> None:
    """Neighbour: the Read of a 3 MB file is a body of some megabytes (sdk.md §5)."""
    upstream = MemoryUpstream(reply_events(text("fine")))
    content = 'line of "code", {with} [marks]\n' * 100_000

    async def main() -> int:
        async with a_gateway(tmp_path, upstream):
            return (await ask(tmp_path, a_request({"role": "user", "content": content}))).status

    assert asyncio.run(main()) == 200
    assert upstream.requests[0]["messages"] == [{"role": "user", "content": content}]
