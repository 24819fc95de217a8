"""The engine's stream: framing, bounds, half-close, an end that always comes (cases 89, 90, 95, 99-101)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runner.errors import SandboxError, SandboxUnavailableError
from runner.sandbox import box as box_module
from runner.sandbox.box import Box, Chunk
from runner.sandbox.spec import create_kwargs
from tests.helpers.fake_engine import FakeContainer, FakeEngine, frame
from tests.unit.sandbox.cases import a_spec


def with_box(scene: Callable[[Box, FakeContainer, FakeEngine], Awaitable[Any]]) -> Any:
    """Run a scene with a container that nothing has been said on."""

    async def run() -> Any:
        engine = FakeEngine()
        name = await engine.create(create_kwargs(a_spec()))
        box = Box(engine, name, await engine.attach(name))
        container = engine.containers[name]
        try:
            return await scene(box, container, engine)
        finally:
            await box.destroy()
            container.end(0)
            await asyncio.sleep(0.001)

    return asyncio.run(run())


async def everything(box: Box) -> dict[str, bytes]:
    found = {"out": b"", "err": b""}
    while (chunk := await box.receive()) is not None:
        assert 0 < len(chunk.data) <= 65536
        found[chunk.stream] += chunk.data
    return found


def test_the_two_outputs_are_told_apart_and_nothing_is_lost():
    """Case 101: a long line with stderr between."""

    async def scene(box, container, engine):
        data = bytes(range(256)) * 1200
        sent = (
            frame(1, data[:1])
            + frame(2, b"noise")
            + frame(1, b"")
            + frame(1, data[1:200_000])
            + frame(2, b"more")
            + frame(1, data[200_000:])
        )

        async def say() -> None:
            for at in range(0, len(sent), 4093):  # never on a frame's edge
                await container.raw(sent[at : at + 4093])
            container.end(0)

        talking = asyncio.create_task(say())
        found = await everything(box)
        await talking
        assert found == {"out": data, "err": b"noisemore"}

    with_box(scene)


def test_a_cancelled_receive_loses_nothing():
    async def scene(box, container, engine):
        whole = frame(1, b"abcdef")
        got = b""
        for byte in whole:
            waiting = asyncio.create_task(box.receive())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            if not waiting.cancelled() and (chunk := waiting.result()) is not None:
                got += chunk.data
            await container.raw(bytes((byte,)))
            await asyncio.sleep(0.001)
        container.end(0)
        assert got + (await everything(box))["out"] == b"abcdef"

    with_box(scene)


@pytest.mark.parametrize("data", [b"\x03\0\0\0\0\0\0\x01x", b"\x01\0\0\x01\0\0\0\x01x", b"plain text, no frames"])
def test_broken_framing_is_an_error(data):
    async def scene(box, container, engine):
        await container.raw(data)
        with pytest.raises(SandboxError, match="framing"):
            await box.receive()

    with_box(scene)


@pytest.mark.parametrize("data", [b"\x01\0\0", frame(1, b"abc")[:-3], frame(1, b"abc")[:-1]])
def test_a_stream_cut_inside_a_frame_is_an_error_and_not_an_end(data):
    async def scene(box, container, engine):
        await container.raw(data)
        container.end(0)
        with pytest.raises(SandboxError, match="cut"):
            await everything(box)

    with_box(scene)


def test_the_end_of_input_leaves_the_output_open():
    """Case 100."""

    async def scene(box, container, engine):
        await box.send(b"in")
        await box.end_input()
        await box.end_input()
        assert await container.read() == b"in"
        assert await container.read() == b""
        await container.out(b"late")
        assert await box.receive() == Chunk(stream="out", data=b"late")
        with pytest.raises(SandboxError, match="gone"):
            await box.send(b"more")

    with_box(scene)


def test_a_container_that_does_not_read_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(box_module, "SEND_SECONDS", 0.2)

    async def scene(box, container, engine):
        container.reader._transport.pause_reading()

        async def flood() -> None:
            for _ in range(64):
                await box.send(b"x" * 262_144)

        with pytest.raises(SandboxError, match="read nothing"):
            await flood()

    with_box(scene)


def test_sends_do_not_mix():
    async def scene(box, container, engine):
        lines = [bytes((65 + number,)) * 50_000 + b"\n" for number in range(8)]
        sending = asyncio.gather(*(box.send(line) for line in lines))
        got = b""
        while len(got) < sum(map(len, lines)):
            got += await container.read()
        await sending
        assert sorted(got.splitlines(keepends=True)) == lines

    with_box(scene)


def test_a_gone_container_refuses_what_is_sent_and_ends_what_is_received():
    async def scene(box, container, engine):
        await box.destroy()
        assert await box.receive() is None
        with pytest.raises(SandboxError, match="gone"):
            await box.send(b"x")
        assert await box.exit_code(1) is None

    with_box(scene)


def test_the_exit_code_is_told_once_it_is_there():
    async def scene(box, container, engine):
        await engine.inspect(container.id)
        container.status = "running"
        assert await box.exit_code(0.06) is None
        container.end(7)
        assert await box.exit_code(5) == 7

    with_box(scene)


def test_destroying_twice_at_once_removes_once():
    async def scene(box, container, engine):
        await asyncio.gather(box.destroy(), box.destroy())
        await box.destroy()
        assert engine.containers == {}
        assert engine.calls.count("remove") == 1

    with_box(scene)


def test_destroying_goes_on_when_its_caller_is_cancelled():
    """Case 95."""

    async def scene(box, container, engine):
        engine.pauses["remove"] = asyncio.Event()
        task = asyncio.create_task(box.destroy())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        engine.pauses["remove"].set()
        await asyncio.wait([task])
        assert task.cancelled()
        assert engine.containers == {}

    with_box(scene)


def test_destroying_never_fails_and_is_bounded(monkeypatch, caplog):
    monkeypatch.setattr(box_module, "DESTROY_SECONDS", 0.1)

    async def scene(box, container, engine):
        engine.faults["remove"] = SandboxUnavailableError("cannot remove the container: the engine is away")
        await box.destroy()
        assert engine.calls[-3:] == ["remove", "kill", "remove"]

    with_box(scene)

    async def hanging(box, container, engine):
        engine.pauses["remove"] = asyncio.Event()
        await box.destroy()

    with_box(hanging)
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_the_first_line_is_cut_off_and_the_rest_kept():
    async def scene(box, container, engine):
        await container.err(b"warning")
        await container.out(b"fir")
        await container.out(b"st\nsecond\nth")
        await container.out(b"ird")
        container.end(0)
        assert await box.first_line(limit=100) == b"first"
        assert await everything(box) == {"out": b"second\nthird", "err": b"warning"}

    with_box(scene)


def test_a_first_line_without_end_is_an_error_with_what_was_said():
    async def scene(box, container, engine):
        await container.err(b"exec failed \x1b[2J")
        container.end(1)
        with pytest.raises(SandboxError, match="it ended before it reported") as caught:
            await box.first_line(limit=100)
        assert caught.value.details == repr(b"exec failed \x1b[2J")

    with_box(scene)

    async def endless(box, container, engine):
        await container.out(b"x" * 200)
        with pytest.raises(SandboxError, match="too long"):
            await box.first_line(limit=100)

    with_box(endless)
