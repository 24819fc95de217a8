"""What the real engine refuses leaves no container behind (cases 97, 98, 106)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest

from campaigns.wall import Weakened
from runner.errors import SandboxError, SandboxMismatchError
from runner.sandbox.launch import launch
from tests.helpers.fake_engine import FakeContainer, describe
from tests.helpers.sandbox_fixtures import OWNER, an_order
from tests.integration.sandbox.inside import listen, nobody

pytestmark = pytest.mark.docker


class Lying(Weakened):
    """An engine that creates another container than was asked for, and describes the one that was."""

    asked: dict

    async def create(self, body):
        self.asked = deepcopy(dict(body))
        return await super().create(body)

    async def inspect(self, container):
        facts = await super().inspect(container)
        if facts is None:
            return None
        return {**describe(FakeContainer(id=container, body=self.asked)), "State": facts["State"]}


def fails(engine, order, *, weaken: Callable[[dict], None] = lambda _: None, kind: type[Exception] = SandboxError) -> str:
    async def run() -> str:
        with pytest.raises(kind) as caught:
            await launch(Lying(engine, weaken), order, on_created=nobody)
        assert await engine.find({"runner.state": OWNER}) == ()
        return str(caught.value)

    return asyncio.run(run())


def test_an_image_that_is_not_there_is_an_error(engine, sandbox_image, tmp_path):
    order = an_order(tmp_path, replace(sandbox_image, id="sha256:" + "0" * 64))
    assert "create" in fails(engine, order)


def test_a_container_that_is_created_but_cannot_start_is_removed(engine, sandbox_image, tmp_path):
    """Case 98: the workdir of CVE-2024-21626, and a runtime that is not there."""
    order = an_order(tmp_path, sandbox_image)
    fails(engine, order, weaken=lambda body: body.update(WorkingDir="/proc/self/fd/8"))
    fails(engine, order, weaken=lambda body: body.update(Entrypoint=["/no/such/program"]))
    fails(engine, replace(order, runtime="no-such-runtime"))


def test_an_image_without_the_probe_is_not_trusted(engine, sandbox_image, tmp_path):
    order = an_order(tmp_path, sandbox_image, "-c", "echo hello")
    said = fails(engine, order, weaken=lambda body: body.update(Entrypoint=["/bin/sh"]), kind=SandboxMismatchError)
    assert "no report" in said


def test_a_probe_that_never_speaks_is_given_up(engine, sandbox_image, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.sandbox.proof.REPORT_SECONDS", 1.0)
    order = an_order(tmp_path, sandbox_image)
    assert "no report within" in fails(
        engine, order, weaken=lambda body: body.update(Entrypoint=["/bin/sleep", "1000"], Cmd=[])
    )


def test_a_program_that_is_not_there_ends_with_its_own_error(engine, sandbox_image, tmp_path):
    async def run() -> None:
        box = await launch(engine, an_order(tmp_path, sandbox_image, "no-such-program"), on_created=nobody)
        said = await listen(box)
        await box.destroy()
        assert said.code == 127
        assert "no-such-program" in said.err

    asyncio.run(run())


@pytest.mark.parametrize("after", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_launch_cancelled_at_any_moment_leaves_nothing(engine, sandbox_image, tmp_path, after):
    """Case 95, against the real engine."""

    async def run() -> None:
        task = asyncio.create_task(launch(engine, an_order(tmp_path, sandbox_image), on_created=nobody))
        await asyncio.sleep(after)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            await task.result().destroy()
        assert await engine.find({"runner.state": OWNER}) == ()

    asyncio.run(run())


def test_a_container_that_is_silent_for_long_is_still_connected(engine, sandbox_image, tmp_path):
    """Case 102, with the client's time-out shortened instead of waiting a minute."""
    short = type(engine)(deadline=1.0)

    async def run() -> None:
        box = await launch(short, an_order(tmp_path, sandbox_image, "sh", "-c", "sleep 3; echo still here"), on_created=nobody)
        began = time.monotonic()
        said = await listen(box)
        await box.destroy()
        assert said.out == "still here\n"
        assert time.monotonic() - began > 2

    try:
        asyncio.run(run())
    finally:
        short.close()


def test_a_container_ignoring_its_signals_is_destroyed(engine, sandbox_image, tmp_path):
    async def run() -> None:
        argv = ("sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done")
        box = await launch(engine, an_order(tmp_path, sandbox_image, *argv), on_created=nobody)
        await box.destroy()
        assert await engine.inspect(box.container_id) is None

    asyncio.run(run())


def test_a_flood_that_nobody_reads_costs_no_memory_and_no_disk(engine, sandbox_image, tmp_path):
    """Log driver none, and the stream is read only as fast as its owner reads."""

    async def run() -> None:
        box = await launch(engine, an_order(tmp_path, sandbox_image, "sh", "-c", "cat /dev/zero"), on_created=nobody)
        await asyncio.sleep(0.5)
        assert len(box._stream.reader._buffer) <= 1024 * 1024
        facts = await engine.inspect(box.container_id)
        assert facts is not None
        assert facts["LogPath"] == ""
        await box.destroy()

    asyncio.run(run())
