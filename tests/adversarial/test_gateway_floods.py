"""Family: connections by the thousand. They are counted, taken no faster than there is room, and end with the door (M6)."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest

from runner.gateway import SOCKET_NAME, GatewayLimits
from runner.gateway.doorway import Doorway
from tests.helpers.gateway import MemoryUpstream, a_gateway, a_request, ask
from tests.helpers.upstream import reply_events, text

SHUT = "the container was refused too often; its gateway was shut"


def knock(directory: Path) -> bool:
    """Connect and go away at once; False when nobody takes connections any more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as end:
        try:
            end.connect(str(directory / SOCKET_NAME))
        except BlockingIOError:
            return True  # a full queue: the flood waits, and nobody else does
        except OSError:
            return False
    return True


async def flooded(directory: Path, seconds: float) -> None:
    """Knock as fast as can be while the loop goes on."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and knock(directory):  # noqa: ASYNC110 -- a flood waits for nothing
        await asyncio.sleep(0)


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("full", [False, True], ids=["with room", "with every place held"])
def test_a_flood_of_connections_is_counted_and_shuts_the_door(tmp_path: Path, full: bool) -> None:
    """Whoever holds every place idle is no better off than who does not."""
    limits = GatewayLimits(connections=3, burst=5, per_second=0.001, refusals=10)

    async def main() -> tuple[str | None, int, bool]:
        async with a_gateway(tmp_path, MemoryUpstream([]), limits=limits) as gateway:
            path = str(tmp_path / SOCKET_NAME)
            held = [await asyncio.open_unix_connection(path) for _ in range(3 if full else 0)]
            await flooded(tmp_path, 20)
            for _, writer in held:
                writer.close()
            return gateway.failure, gateway.refused, (tmp_path / SOCKET_NAME).exists()

    failure, refused, there = asyncio.run(main())
    assert (failure, refused >= 10, there) == (SHUT, True, False)


def test_nobody_is_taken_while_there_is_no_room(tmp_path: Path) -> None:
    """A flood beside held places costs a few connections and no work: they wait in the kernel, which takes no more of them."""
    limits = GatewayLimits(connections=3, burst=10**6, per_second=1e6)

    async def main() -> tuple[int, int]:
        async with a_gateway(tmp_path, MemoryUpstream(reply_events(text("fine"))), limits=limits) as gateway:
            path = str(tmp_path / SOCKET_NAME)
            held = [await asyncio.open_unix_connection(path) for _ in range(3)]
            await flooded(tmp_path, 0.5)
            refused = gateway.refused
            for _, writer in held:
                writer.close()
            async with asyncio.timeout(20):
                while not await served(tmp_path):  # noqa: ASYNC110 -- a queue rings no bell
                    await asyncio.sleep(0.01)
            return refused, handles()

    async def served(directory: Path) -> bool:
        try:
            return (await ask(directory, a_request())).status == 200
        except (OSError, IndexError):
            return False  # one of the last that waited is still ahead

    before = handles()
    refused, after = asyncio.run(main())
    assert 1 <= refused <= 40
    assert after - before < 40


def test_a_doorway_takes_the_next_when_handles_are_free_again(tmp_path: Path) -> None:
    """Without one it would spin, or never look again."""

    class Short(socket.socket):
        times = 0

        def accept(self) -> tuple[socket.socket, object]:
            self.times += 1
            if self.times < 3:
                raise OSError(24, "Too many open files")
            return super().accept()

    async def main() -> int:
        made = asyncio.Event()

        class Protocol(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                made.set()
                transport.close()

        listening = Short(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        listening.bind(str(tmp_path / SOCKET_NAME))
        doorway = Doorway(listening, Protocol, room=lambda: True, crowded=made.clear)
        try:
            assert knock(tmp_path)
            await asyncio.wait_for(made.wait(), 20)
            await asyncio.sleep(0)
        finally:
            doorway.close()
            doorway.close()
        return listening.times

    assert asyncio.run(main()) >= 3
