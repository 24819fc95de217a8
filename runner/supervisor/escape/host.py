"""The escape suite on the operator's own host: their engine, their image, the settings their agents run under."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable

from runner.errors import SandboxError
from runner.profiles import load
from runner.resources import profiles_dir
from runner.sandbox.engine import Engine
from runner.sandbox.image import image_info
from runner.settings import Settings
from runner.supervisor.escape.judge import NOTICED, Result
from runner.supervisor.escape.run import Stage, try_all
from runner.supervisor.escape.scripts import escape_scripts


async def try_host(settings: Settings, *, progress: Callable[[Result], None]) -> tuple[Result, ...]:
    """Run every script here.

    Args:
        settings: Which engine, and under which runtime.
        progress: Told each result as it comes.

    Raises:
        SandboxError: There is no image, or the wall could not be put up at all.
    """
    # That a script broke a rule is what is looked for; the SDK would tell of each.
    logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL + 1)
    profile = await asyncio.to_thread(load, profiles_dir() / "scribe.toml", shipped=True)
    async with Engine(host=settings.docker_host) as engine:
        image = await image_info(engine)
        if image is None:
            raise SandboxError("cannot try to escape: there is no sandbox image", resolution="runner image build")
        stage = Stage(
            engine=engine, image=image, owner=_owner(settings), profile=profile, runtime=settings.runtime, noticed=NOTICED
        )
        return await try_all(stage, escape_scripts(), progress=progress)


def _owner(settings: Settings) -> str:
    """Another label than the supervisor's own containers have: neither removes the other's."""
    return "escape-" + hashlib.sha256(os.fsencode(settings.state_dir.resolve())).hexdigest()[:16]
