"""The image's CLI is asked how it describes its tools, and says what is on the image's label (design.md §2.4)."""

from __future__ import annotations

import asyncio
import json

import pytest

from runner.sandbox.engine import Engine, ImageInfo
from runner.supervisor.definitions import record

pytestmark = pytest.mark.docker


def test_the_label_says_what_the_cli_says_and_nothing_is_left_behind(engine: Engine, sandbox_image: ImageInfo) -> None:
    """P5: both wordings it has for models of different ages are known."""

    async def ask() -> tuple[str, tuple[str, ...]]:
        return await record(engine, sandbox_image, owner="t-definitions"), await engine.find({"runner.state": "t-definitions"})

    said, left = asyncio.run(ask())
    assert json.loads(said) == json.loads(sandbox_image.definitions)
    assert {name: len(digests) for name, digests in json.loads(said).items()} == {"Glob": 2, "Grep": 2, "Read": 2}
    assert left == ()
