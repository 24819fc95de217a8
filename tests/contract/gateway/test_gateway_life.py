"""The life of a gateway and of its connections: hanging up, stopping, sharing a loop."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from runner.gateway import SOCKET_NAME, GatewayLimits
from tests.helpers.gateway import MODEL, Answered, Desk, MemoryUpstream, a_gateway, a_request, ask, request_bytes
from tests.helpers.upstream import reply_events, text, tool_use

CALLS = reply_events(text("a"), tool_use("Bash", '{"command": "ls"}'), tool_use("Read", "{}", identity="toolu_2"))


async def hung_up(directory: Path, upstream: MemoryUpstream, desk: Desk) -> None:
    """A client that reads the beginning of a reply and goes away; once the desk has its turn, if one is whole."""
    assert desk.gate is not None
    async with a_gateway(directory, upstream, desk):
        reader, writer = await asyncio.open_unix_connection(str(directory / SOCKET_NAME))
        writer.write(request_bytes(json.dumps(a_request()).encode()))
        await reader.readuntil(b"message_start")
        if upstream.events is CALLS:
            await desk.waiting.wait()
        writer.close()
        await asyncio.sleep(0.05)
        await asyncio.wait_for(upstream.ended.wait(), 20)
        desk.gate.set()


def test_a_container_that_hangs_up_ends_the_upstream_s_request(tmp_path: Path) -> None:
    async def main() -> tuple[int, int]:
        upstream, desk = MemoryUpstream([*CALLS[:2], asyncio.Event()]), Desk(gate=asyncio.Event())
        await hung_up(tmp_path, upstream, desk)
        return upstream.closed, len(desk.turns)

    assert asyncio.run(main()) == (1, 0)


def test_a_container_that_hangs_up_does_not_interrupt_the_desk(tmp_path: Path) -> None:
    """Nothing the container does leaves a turn half decided."""

    async def main() -> tuple[int, int]:
        upstream, desk = MemoryUpstream(CALLS), Desk(gate=asyncio.Event())
        await hung_up(tmp_path, upstream, desk)
        return upstream.closed, len(desk.turns)

    assert asyncio.run(main()) == (1, 1)


def test_stopping_ends_what_is_under_way_within_its_bound(tmp_path: Path) -> None:
    async def main() -> tuple[bytes, int]:
        desk = Desk(gate=asyncio.Event())
        upstream = MemoryUpstream(CALLS)
        async with a_gateway(tmp_path, upstream, desk, GatewayLimits(stop_seconds=0.05)) as gateway:
            asking = asyncio.ensure_future(ask(tmp_path, a_request()))
            await desk.waiting.wait()
            await asyncio.wait_for(gateway.stop(), 10)
            return (await asking).body, len(desk.turns)

    body, turns = asyncio.run(main())
    assert (b"toolu" in body, turns) == (False, 0)


def test_who_knocks_while_it_stops_is_not_kept(tmp_path: Path) -> None:
    """M6: closed with the attempt; a connection that was taken just before is ended like the others."""

    async def main() -> list[bytes]:
        async with a_gateway(tmp_path, MemoryUpstream(CALLS)) as gateway:
            doors = [socket.socket(socket.AF_UNIX) for _ in range(6)]
            for door in doors[:3]:
                door.connect(str(tmp_path / SOCKET_NAME))
            for door in doors[3:]:
                await asyncio.sleep(0)
                door.connect(str(tmp_path / SOCKET_NAME))
            await gateway.stop()
            for door in doors:
                door.setblocking(False)
            loop = asyncio.get_running_loop()
            said = await asyncio.gather(
                *(asyncio.wait_for(loop.sock_recv(door, 1), 5) for door in doors), return_exceptions=True
            )
            for door in doors:
                door.close()
            return [one if isinstance(one, bytes) else type(one).__name__.encode() for one in said]

    assert set(asyncio.run(main())) <= {b"", b"ConnectionResetError"}


def test_several_gateways_share_one_loop_and_keep_apart(tmp_path: Path) -> None:
    async def one(name: str) -> list[object]:
        folder = tmp_path / name
        folder.mkdir()
        async with a_gateway(folder, MemoryUpstream(reply_events(text(name)))):
            replies = [await ask(folder, a_request()) for _ in range(3)]
        return [event["delta"] for reply in replies for event in reply.events() if event["type"] == "content_block_delta"]

    async def main() -> list[list[object]]:
        return await asyncio.gather(*[one(f"agent{number}") for number in range(5)])

    assert asyncio.run(main()) == [[{"type": "text_delta", "text": f"agent{number}"}] * 3 for number in range(5)]


def test_replies_of_one_container_are_taken_one_at_a_time(tmp_path: Path) -> None:
    async def main() -> tuple[int, int]:
        desk = Desk(gate=asyncio.Event())
        upstream = MemoryUpstream(reply_events(text("a")))
        async with a_gateway(tmp_path, upstream, desk):
            asking = [asyncio.ensure_future(ask(tmp_path, a_request())) for _ in range(3)]
            await desk.waiting.wait()
            await asyncio.sleep(0.05)
            before = len(upstream.requests)
            assert desk.gate is not None
            desk.gate.set()
            await asyncio.gather(*asking)
        return before, len(upstream.requests)

    assert asyncio.run(main()) == (1, 3)


def test_the_profile_s_model_is_the_only_one_asked(tmp_path: Path) -> None:
    upstream = MemoryUpstream(reply_events())

    async def main() -> tuple[Answered, int, tuple[str, ...]]:
        async with a_gateway(tmp_path, upstream) as gateway:
            reply = await ask(tmp_path, {**a_request(), "model": "claude-dear"})
            return reply, gateway.refused, gateway.refusals

    reply, refused, refusals = asyncio.run(main())
    why = "cannot forward the request: model is 'claude-dear', not the profile's"
    assert (reply.status, upstream.requests, refused, MODEL in reply.body.decode()) == (400, [], 1, False)
    assert refusals == (f"POST b'/v1/messages': {why}",)


def test_a_container_that_hangs_up_costs_no_line_in_a_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Writing on to a client that is gone makes asyncio warn at every piece: a container could fill a disk with it."""
    upstream, desk = MemoryUpstream(reply_events(text("a", pieces=["abc "] * 2000))), Desk(gate=asyncio.Event())
    asyncio.run(hung_up(tmp_path, upstream, desk))
    assert [record for record in caplog.records if record.name == "asyncio" and record.levelname != "DEBUG"] == []
