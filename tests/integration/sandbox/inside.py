"""Running short scripts inside the wall."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from runner.sandbox.box import Box
from runner.sandbox.engine import ImageInfo
from runner.sandbox.launch import ContainerEngine, launch
from tests.helpers.sandbox_fixtures import an_order


class Said(NamedTuple):
    """What a script said and how it ended."""

    code: int | None
    out: str
    err: str


async def nobody(_: str) -> None:
    """Write no row."""


async def listen(box: Box, *, seconds: float = 60.0) -> Said:
    """Everything until the end."""
    found = {"out": b"", "err": b""}
    async with asyncio.timeout(seconds):
        while (chunk := await box.receive()) is not None:
            found[chunk.stream] += chunk.data
    return Said(await box.exit_code(10), found["out"].decode(), found["err"].decode())


def inside(engine: ContainerEngine, folder: Path, image: ImageInfo, script: str, **changes: object) -> Said:
    """Run a shell script as the agent's process."""
    return program(engine, folder, image, "sh", "-c", script, **changes)


def program(engine: ContainerEngine, folder: Path, image: ImageInfo, *argv: str, **changes: object) -> Said:
    """Run a program as the agent's process."""

    async def run() -> Said:
        box = await launch(engine, an_order(folder, image, *argv, **changes), on_created=nobody)
        try:
            await box.end_input()
            return await listen(box)
        finally:
            await box.destroy()

    return asyncio.run(run())
