"""Where large bodies are worked on: beside the loop, the largest one at a time, none left behind (M6)."""

from __future__ import annotations

import asyncio
import threading

import pytest

from runner.gateway.heavy import HUGE, SMALL, beside


def test_small_work_is_done_at_once_and_large_work_elsewhere() -> None:
    async def main() -> list[bool]:
        here = threading.get_ident()
        return [await beside(size, threading.get_ident) == here for size in (0, SMALL - 1, SMALL, HUGE)]

    assert asyncio.run(main()) == [True, True, False, False]


def test_an_error_of_the_work_is_its_asker_s() -> None:
    def wrong() -> None:
        raise ValueError("odd")

    for size in (0, SMALL, HUGE):
        with pytest.raises(ValueError, match="odd"):
            asyncio.run(beside(size, wrong))


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_is_cancelled_waits_for_what_has_begun_and_not_for_its_turn(fails: bool) -> None:
    """The first holds the only place: the second is given up at once, the first when its work has come to an end."""
    begun, end, done = threading.Event(), threading.Event(), []

    def long() -> None:
        begun.set()
        end.wait(20)
        done.append("first")
        if fails:
            raise ValueError("nobody hears it")

    async def main() -> tuple[bool, bool]:
        first = asyncio.ensure_future(beside(HUGE, long))
        await asyncio.to_thread(begun.wait, 20)
        second = asyncio.ensure_future(beside(HUGE, lambda: done.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second}, timeout=20)
        first.cancel()
        await asyncio.sleep(0.02)
        waited = not first.done()
        end.set()
        await asyncio.wait({first}, timeout=20)
        return waited, first.cancelled() and second.cancelled()

    assert asyncio.run(main()) == (True, True)
    assert done == ["first"]
