"""A container that uses up its memory says why it ended (issue 7, resource policy)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.model import Limits
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import launch
from tests.helpers.sandbox_fixtures import an_order

pytestmark = pytest.mark.docker


async def unbound(_: str) -> None:
    """No row."""


@pytest.mark.parametrize(("argv", "told"), [(("tail", "/dev/zero"), True), (("false",), False)])
def test_what_the_kernel_killed_for_want_of_memory_is_told_from_what_just_ended(
    tmp_path: Path, engine: Engine, sandbox_image: ImageInfo, argv: tuple[str, ...], told: bool
) -> None:
    """Out of memory is told as such: the engine's word on how the container ended is kept with its exit code."""

    async def scene() -> None:
        order = an_order(tmp_path, sandbox_image, *argv, limits=Limits(memory=64 * 1024 * 1024))
        box = await launch(engine, order, on_created=unbound)
        try:
            assert await box.exit_code(30) != 0
            assert box.out_of_memory is told
        finally:
            await box.destroy()

    asyncio.run(scene())
