"""An engine that is absent, silent or speaks nonsense is an error with a hint, within its deadline (L7, case 102)."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from runner.errors import SandboxUnavailableError
from runner.sandbox.engine import Engine
from runner.sandbox.launch import reap


def test_a_missing_engine_is_told_with_how_to_start_it(tmp_path):
    async def run() -> None:
        async with Engine(host=f"unix://{tmp_path}/absent.sock") as engine:
            with pytest.raises(SandboxUnavailableError) as caught:
                await engine.info()
            assert "systemctl start docker" in str(caught.value.resolution)
            with pytest.raises(SandboxUnavailableError):
                await reap(engine, owner="x", keep=())

    asyncio.run(run())


def test_a_silent_engine_is_given_up_at_the_deadline(tmp_path):
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()

        async def run() -> None:
            async with Engine(host=f"unix://{path}", deadline=1.0) as engine:
                with pytest.raises(SandboxUnavailableError):
                    await engine.kill("x")

        asyncio.run(run())


def test_an_engine_that_is_not_local_is_refused_for_attaching(tmp_path):
    async def run() -> None:
        async with Engine(host="tcp://127.0.0.1:1") as engine:
            with pytest.raises(SandboxUnavailableError, match="no local engine"):
                await engine.attach("x")

    asyncio.run(run())


def test_a_closed_engine_is_used_no_more(tmp_path: Path):
    async def run() -> None:
        engine = Engine(host=f"unix://{tmp_path}/absent.sock")
        engine.close()
        with pytest.raises(SandboxUnavailableError, match="closed"):
            await engine.remove("x")

    asyncio.run(run())
