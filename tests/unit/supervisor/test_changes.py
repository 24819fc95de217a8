"""The bell: who waits for a change hears it, and can always be told to stop waiting."""

from __future__ import annotations

import asyncio

import pytest

from runner.supervisor.changes import Changes


async def never() -> None:
    return None


def test_a_wait_that_is_cancelled_at_the_very_ring_ends() -> None:
    """Stopping a held run rings and cancels at once; its attempt must not go on waiting (invariant 11)."""

    async def scene() -> None:
        changes = Changes()
        waiting = asyncio.create_task(changes.until(never, seconds=None))
        await asyncio.sleep(0)
        changes.ring()
        waiting.cancel()
        done, _ = await asyncio.wait({waiting}, timeout=5)
        assert done == {waiting}
        assert waiting.cancelled()

    asyncio.run(scene())


def test_a_ring_makes_it_look_again_and_time_ends_it() -> None:
    async def scene() -> None:
        changes = Changes()
        looks: list[int] = []

        async def look() -> str | None:
            looks.append(len(looks))
            return "found" if len(looks) == 3 else None

        waiting = asyncio.create_task(changes.until(look, seconds=None))
        for _ in range(2):
            await asyncio.sleep(0)
            changes.ring()
        assert await waiting == "found"
        assert looks == [0, 1, 2]
        assert await changes.until(never, seconds=0.01) is None

    asyncio.run(scene())


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_at_all_is_one_look(seconds: float) -> None:
    async def scene() -> None:
        looks: list[int] = []

        async def look() -> None:
            looks.append(1)

        assert await Changes().until(look, seconds=seconds) is None
        assert looks == [1]

    asyncio.run(scene())
