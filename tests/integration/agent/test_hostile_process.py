"""A hostile process in the CLI's place, that asks nobody: each of the two walls alone keeps its effect from happening (M3).

What it tries is the very thing an agent would have to ask for: a file in its directory, word to somebody outside.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import launch
from tests.adversarial.test_agent_bare_tool_messages import HANDSHAKE, a_message
from tests.helpers.agent_gate import conversation
from tests.helpers.agent_stream import FakeCli, a_tool_call
from tests.helpers.sandbox_fixtures import an_order
from tests.unit.supervisor.world import World, a_turn, play, states, write

pytestmark = pytest.mark.docker

#: Says on a line of its own what it got done, at the end DONE.
TRIES = r"""
use IO::Socket::INET; use IO::Socket::UNIX; $| = 1;
my ($host, $port) = @ARGV;
for my $place ("/workspace", "/run/gateway", $host, "/proc/1/root/workspace", "/proc/self/cwd", "/proc/1/cwd") {
  open(my $f, ">", "$place/o.txt") and print "wrote in $place\n";
  open(my $g, ">>", "$place/in.txt") and print "changed a file in $place\n";
  unlink("$place/in.txt") and print "removed a file in $place\n";
}
for my $address ("127.0.0.1:$port", "172.17.0.1:$port", "169.254.169.254:80", "1.1.1.1:53") {
  IO::Socket::INET->new(PeerAddr => $address, Timeout => 1) and print "reached $address\n";
}
for my $path ("/var/run/docker.sock", "/run/docker.sock", "$host/../state/control.sock") {
  IO::Socket::UNIX->new(Peer => $path) and print "reached $path\n";
}
print "DONE\n";
"""


def holding(folder: Path) -> Mapping[str, bytes]:
    """Every file beneath a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_wall_alone_lets_nothing_happen(engine: Engine, sandbox_image: ImageInfo, tmp_path: Path) -> None:
    """No gate, no gateway and no broker stand here: only the container does."""
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "in.txt").write_text("INSIDE\n")

    async def main(port: int) -> str:
        order = an_order(tmp_path, sandbox_image, "perl", "-e", TRIES, str(tmp_path / "snapshot"), str(port))
        box = await launch(engine, order, on_created=_nothing)
        try:
            said = b""
            while (chunk := await box.receive()) is not None:
                said += chunk.data if chunk.stream == "out" else b""
            return said.decode()
        finally:
            await box.destroy()

    with socket.create_server(("", 0)) as outside:
        said = asyncio.run(main(outside.getsockname()[1]))
        outside.setblocking(False)
        with pytest.raises(BlockingIOError):
            outside.accept()
    assert said == "DONE\n"
    assert holding(tmp_path) == {"snapshot/in.txt": b"INSIDE\n"}


def test_the_broker_alone_lets_nothing_happen_but_what_a_person_approved_and_that_once(tmp_path: Path) -> None:
    """No container stands here, and the gate is passed by: bare calls, before, while and after the effect, in any words."""
    wanted = {"file_path": "o.txt", "content": "x"}
    others = [
        {"file_path": "o.txt", "content": "y"},
        {"file_path": "in.txt", "content": "z"},
        {"file_path": "p", "content": ""},
    ]

    async def scene(world: World) -> None:
        row = world.a_running()
        desk = world.desk(row)

        async def everything(cli: FakeCli) -> None:
            asked = [
                cli.open(a_tool_call("Write", words, identity=100 + n))[1] for n, words in enumerate([wanted, *others] * 5)
            ]
            await asyncio.gather(*asked)

        async def go(cli: FakeCli) -> None:
            for message in HANDSHAKE:
                await cli.ask(a_message(message))
            await everything(cli)  # before the model has asked for anything
            await desk.take_turn(a_turn(write("o.txt", "x")))
            await everything(cli)
            (pending,) = world.approvals(row.id)
            assert holding(world.cwd) == {"in.txt": b"INSIDE\n"}
            knocking = asyncio.create_task(everything(cli))
            await world.approve(pending)
            await knocking
            await everything(cli)
            cli.say({"type": "control_cancel_request", "request_id": "q1"})
            cli.finish()

        await conversation(FakeCli(go, profile=world.profile), desk, profile=world.profile)
        assert holding(world.cwd) == {"in.txt": b"INSIDE\n", "o.txt": b"x"}
        (done,) = world.approvals(row.id)
        assert [state.value for state in states([done])] == ["done"]

    play(tmp_path, scene)


async def _nothing(_container: str) -> None:
    """Nothing is bound to it."""
