"""One suite, two subjects: what the launch relies on holds for the engine in memory and for the real one."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runner.errors import SandboxError
from runner.sandbox.box import Box, Chunk
from runner.sandbox.engine import ImageInfo
from runner.sandbox.inspection import differences
from runner.sandbox.launch import STATE_LABEL, ContainerEngine, launch, reap, spec_for
from runner.sandbox.spec import SandboxSpec, create_kwargs
from tests.helpers.fake_engine import FAKE_IMAGE, FakeEngine
from tests.helpers.sandbox_fixtures import OWNER, an_order
from tests.unit.sandbox.cases import SECCOMP

Subject = tuple[ContainerEngine, ImageInfo]


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def subject(request) -> Subject:
    if request.param == "memory":
        return FakeEngine(), FAKE_IMAGE
    return request.getfixturevalue("engine"), request.getfixturevalue("sandbox_image")


def a_spec(folder: Path, image: ImageInfo, *argv: str, owner: str = OWNER) -> SandboxSpec:
    seccomp = json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []}) if image is FAKE_IMAGE else SECCOMP
    return spec_for(an_order(folder, image, *argv, owner=owner), seccomp=seccomp, launch=secrets.token_hex(8))


def run(scene: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(60):
            return await scene()

    return asyncio.run(bounded())


def test_a_created_container_is_described_as_it_was_asked(subject, tmp_path):
    engine, image = subject

    async def scene() -> None:
        spec = a_spec(tmp_path, image)
        container = await engine.create(create_kwargs(spec))
        try:
            facts = await engine.inspect(container)
            assert facts is not None
            assert differences(spec, facts) == ()
            assert facts["State"]["Status"] == "created"
        finally:
            await engine.remove(container)

    run(scene)


def test_containers_are_found_by_their_labels_running_or_not(subject, tmp_path):
    engine, image = subject
    owner = f"contract-{secrets.token_hex(4)}"

    async def scene() -> None:
        spec = a_spec(tmp_path, image, owner=owner)
        container = await engine.create(create_kwargs(spec))
        try:
            assert await engine.find({STATE_LABEL: owner}) == (container,)
            assert await engine.find(dict(spec.labels)) == (container,)
            assert await engine.find({STATE_LABEL: owner, "runner.agent": "other"}) == ()
            assert container in await engine.find({STATE_LABEL: None})
        finally:
            await engine.remove(container)
        assert await engine.find({STATE_LABEL: owner}) == ()

    run(scene)


def test_what_is_gone_is_no_error_to_kill_or_remove_and_none_to_look_at(subject, tmp_path):
    engine, image = subject

    async def scene() -> None:
        container = await engine.create(create_kwargs(a_spec(tmp_path, image)))
        await engine.kill(container)
        await engine.remove(container)
        await engine.remove(container)
        await engine.kill(container)
        assert await engine.inspect(container) is None
        with pytest.raises(SandboxError):
            await engine.attach(container)
        with pytest.raises(SandboxError):
            await engine.start(container)

    run(scene)


def test_a_launched_container_speaks_and_ends(subject, tmp_path):
    engine, image = subject

    async def scene() -> None:
        written: list[str] = []

        async def on_created(container: str) -> None:
            facts = await engine.inspect(container)
            assert facts is not None
            assert not facts["State"]["Running"]
            written.append(container)

        box = await launch(engine, an_order(tmp_path, image, "cat"), on_created=on_created)
        try:
            assert written == [box.container_id]
            await box.send(b"hello")
            assert await box.receive() == Chunk(stream="out", data=b"hello")
            await box.end_input()
            assert await box.receive() is None
            assert await box.exit_code(10) == 0
        finally:
            await box.destroy()
        await box.destroy()
        assert await engine.inspect(box.container_id) is None

    run(scene)


def test_killing_ends_the_stream(subject, tmp_path):
    engine, image = subject

    async def nobody(_: str) -> None:
        return None

    async def scene() -> None:
        box: Box = await launch(engine, an_order(tmp_path, image, "cat"), on_created=nobody)
        try:
            await engine.kill(box.container_id)
            assert await box.receive() is None
            assert await box.exit_code(10) == 137
        finally:
            await box.destroy()

    run(scene)


def test_leftovers_are_reaped_and_kept_ones_are_not(subject, tmp_path):
    """Case 97: running, created, and one that somebody keeps."""
    engine, image = subject
    owner = f"contract-{secrets.token_hex(4)}"

    async def nobody(_: str) -> None:
        return None

    async def scene() -> None:
        box = await launch(engine, an_order(tmp_path, image, "cat", owner=owner), on_created=nobody)
        live = await launch(engine, an_order(tmp_path, image, "cat", owner=owner), on_created=nobody)
        created = await engine.create(create_kwargs(a_spec(tmp_path, image, owner=owner)))
        assert set(await reap(engine, owner=owner, keep=[live.container_id])) == {box.container_id, created}
        assert await engine.find({STATE_LABEL: owner}) == (live.container_id,)
        await live.destroy()
        await box.destroy()
        assert await reap(engine, owner=owner, keep=()) == ()

    run(scene)
