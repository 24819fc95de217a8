"""A mutation test of the wall: each part of it is weakened in turn, and each must be caught at the start (M2).

`make wall` prints the same as a table. What each side sees is asked for one by one: the engine's answer, the first process
inside and the host's own view are compared with the spec each for itself.
"""

from __future__ import annotations

import asyncio

import pytest

from campaigns.wall import MUTATIONS, Weakened, try_mutation
from runner.errors import SandboxError
from runner.sandbox.launch import launch
from tests.helpers.sandbox_fixtures import OWNER, an_order
from tests.integration.sandbox.inside import nobody

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_part_weakened_is_caught_at_the_start_by_all_who_must_see_it(engine, sandbox_image, tmp_path, name):
    """M2."""

    async def run() -> None:
        caught = await try_mutation(MUTATIONS[name], engine=engine, image=sandbox_image, folder=tmp_path)
        assert caught.fulfils(MUTATIONS[name]), caught
        assert await engine.find({"runner.state": OWNER}) == ()

    asyncio.run(run())


def test_a_container_on_a_bridge_is_never_handed_over(engine, sandbox_image, tmp_path):
    """Where the host has no bridge, it does not even start."""

    def weaken(body):
        body["NetworkDisabled"] = False
        body["HostConfig"]["NetworkMode"] = "bridge"

    async def run() -> None:
        with pytest.raises(SandboxError):
            await launch(Weakened(engine, weaken), an_order(tmp_path, sandbox_image), on_created=nobody)
        assert await engine.find({"runner.state": OWNER}) == ()

    asyncio.run(run())


def test_without_a_mutation_the_same_engine_launches(engine, sandbox_image, tmp_path):
    async def run() -> None:
        box = await launch(Weakened(engine, lambda _: None), an_order(tmp_path, sandbox_image), on_created=nobody)
        facts = await engine.inspect(box.container_id)
        assert box.proof is not None
        assert facts["Config"]["Labels"]["runner.spec"] == box.proof.spec
        assert box.proof.unseen == ()
        await box.destroy()

    asyncio.run(run())
