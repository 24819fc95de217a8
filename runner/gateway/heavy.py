"""Where work on large bodies is done: beside the loop, and for the largest one at a time in the whole process (M6).

Owns that no body of one container keeps the others waiting, and that what all of them together cost in memory stays bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")

#: Below this a body is worked on faster than a thread is reached.
SMALL = 64 * 1024
#: From here on it waits for its turn: a conversation is smaller, but for the pictures in it.
HUGE = 4 * 1024 * 1024

_ONE = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gateway-huge")
_SOME = ThreadPoolExecutor(max_workers=4, thread_name_prefix="gateway-bodies")


async def beside(size: int, work: Callable[[], _T]) -> _T:
    """Do work on a body of `size` bytes.

    It is never left running alone, so that a container's bodies stay one: once it has begun, whoever is cancelled waits.
    """
    if size < SMALL:
        return work()
    job = (_ONE if size >= HUGE else _SOME).submit(work)
    working = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if not job.cancel():
            await asyncio.gather(working, return_exceptions=True)  # its own error has nobody to be told to
        raise
