"""Only processes of the attempt's own container are heard at its socket (issue 7 point 3)."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runner.gateway import SOCKET_NAME, Gateway, Reference, Residents
from runner.gateway.peers import containers_of
from runner.sandbox.box import Box
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import launch
from tests.helpers.gateway import MODEL, OFFERED, Desk, MemoryUpstream, a_request, ask, request_bytes
from tests.helpers.sandbox_fixtures import an_order
from tests.helpers.upstream import reply_events, text

pytestmark = pytest.mark.docker

#: Waits for a line, knocks, says what it heard, and so on until its input ends.
KNOCKS = r"""
use IO::Socket::UNIX; $| = 1;
while (my $request = <STDIN>) {
  $request =~ s/\\r/\r/g; $request =~ s/\\n/\n/g; chomp $request;
  my $s = IO::Socket::UNIX->new(Peer => "/run/gateway/api.sock") or do { print "no: $!\n"; next };
  local $SIG{PIPE} = "IGNORE"; print $s $request; my $heard = join "", <$s>;
  print length $heard ? "heard " . substr($heard, 9, 3) : "nothing", "\n";
}
"""


async def knocked(box: Box) -> str:
    """What a process of the container hears."""
    request = request_bytes(json.dumps(a_request()).encode()).decode()
    await box.send(request.replace("\r", "\\r").replace("\n", "\\n").encode() + b"\n")
    said = b""
    while not said.endswith(b"\n"):
        chunk = await box.receive()
        assert chunk is not None, said
        said += chunk.data
    return said.decode().strip()


async def _nothing(_container: str) -> None:
    """Nothing is bound to it."""


def test_the_container_is_heard_and_the_host_and_another_container_are_not(
    engine: Engine, sandbox_image: ImageInfo, tmp_path: Path
) -> None:
    """Whoever else reaches the socket is refused and counted: nobody before it is known whose door this is, then only they."""
    residents = Residents()
    gateway = Gateway(
        directory=tmp_path / "gateway",
        desk=Desk(),
        reference=Reference(model=MODEL, offered=OFFERED),
        upstream=MemoryUpstream(reply_events(text("hello"))),
        peers=residents,
    )
    order = an_order(tmp_path, sandbox_image, "perl", "-e", KNOCKS)

    async def main() -> tuple[list[str], int]:
        await gateway.start()
        heard = []
        ours, other = await asyncio.gather(*(launch(engine, order, on_created=_nothing) for _ in range(2)))
        try:
            heard.append(await knocked(ours))
            residents.are_of(ours.container_id)
            heard += [await knocked(box) for box in (ours, other)]
            with pytest.raises(IndexError):
                await ask(order.mounts.gateway, a_request())
            residents.are_of(other.container_id)  # it is said once
            heard += [await knocked(box) for box in (ours, other)]
        finally:
            await asyncio.gather(ours.destroy(), other.destroy())
            await gateway.stop()
        return heard, gateway.refused

    assert asyncio.run(main()) == (["nothing", "heard 200", "nothing", "heard 200", "nothing"], 4)
    assert set(gateway.refusals) == {"a process that is not the container's knocked"}


def test_a_process_that_is_gone_is_nobody(tmp_path: Path) -> None:
    """Its number may be another's by then: where the kernel has no pidfd for a peer, there is at least no such process."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / SOCKET_NAME))
        listening.listen()
        knock = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        subprocess.run([sys.executable, "-c", knock, str(tmp_path / SOCKET_NAME)], check=True)
        connection, _ = listening.accept()
        with connection:
            assert containers_of(connection) == frozenset()
