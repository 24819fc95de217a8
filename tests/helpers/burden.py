"""What requests cost whoever serves them: how long nothing else had its turn, and how much memory they took.

Told in the process's own work and in bytes, and held against work of the standard library in the same process: another program
that takes the machine changes neither.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20
#: Times that the plainest reading of a long text, by the standard library, keeps everything else waiting.
MOST_STALLED = 10
_PAGE = 4096


@dataclass(slots=True)
class Burden:
    """`stall`: seconds of this process's work between two turns of its loop, at the most; `grown`: bytes, at the most."""

    stall: float = 0.0
    grown: int = 0


def baseline() -> float:
    """Seconds of this process that the standard library needs to read a plain text of 14 MiB and write it again."""
    body = json.dumps("x" * (14 * MIB))
    began = time.process_time()
    json.dumps(json.loads(body), ensure_ascii=False).encode()
    return time.process_time() - began


@asynccontextmanager
async def watched() -> AsyncIterator[Burden]:
    """Look at every turn of the loop until the end. What is there already is kept out of the way of the collector."""
    burden, before = Burden(), _resident()

    async def look() -> None:
        while True:
            began = time.process_time()
            await asyncio.sleep(0.001)
            burden.stall = max(burden.stall, time.process_time() - began)
            burden.grown = max(burden.grown, _resident() - before)

    gc.freeze()
    looking = asyncio.ensure_future(look())
    try:
        yield burden
        await asyncio.sleep(0.002)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        gc.unfreeze()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
