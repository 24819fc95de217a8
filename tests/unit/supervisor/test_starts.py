"""Agents start a few at a time, so that each of many starts in its time (issue 7: creations that fail)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from runner.supervisor.starts import Starts


def test_a_start_waits_for_one_that_has_ended_once_and_one_that_fails_gives_its_turn_back() -> None:
    """A turn ends when the agent answers, or when the attempt does, and is given back once."""

    async def scene() -> None:
        starts = Starts(1)
        async with AsyncExitStack() as stack:
            end = await stack.enter_async_context(starts.one())
            waiting = asyncio.create_task(stack.enter_async_context(starts.one()))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            end()
            end()
            await asyncio.wait_for(waiting, 10)
            third = asyncio.create_task(stack.enter_async_context(starts.one()))
            await asyncio.sleep(0.01)
            assert not third.done()
            third.cancel()
            await asyncio.gather(third, return_exceptions=True)
        async with asyncio.timeout(10), starts.one():
            pass

    asyncio.run(scene())
