"""Questions to the desk and the purse: a container that hangs up interrupts none of them, and none is left behind at the end.

Owns the tasks they run in. A refusal, or a fault of ours, shuts the door: fail closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from runner.errors import RunnerError
from runner.gateway.refusals import DESK_REFUSED, RequestRefusedError

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)


class Asking:
    """What one gateway has asked and not yet heard.

    Args:
        fail: Told why a request got no reply.
        seal: Told why the door is to be shut.
    """

    def __init__(self, *, fail: Callable[[str], None], seal: Callable[[str], None]) -> None:
        self._fail, self._seal = fail, seal
        self._asked: set[asyncio.Future[Any]] = set()

    async def ask(self, question: Awaitable[_T], *, seal: bool = True) -> _T:
        """The answer.

        Args:
            question: Goes on by itself when the asker is cancelled.
            seal: Whether a refusal shuts the door.

        Raises:
            RequestRefusedError: The desk refused; its reason stays on this side.
        """
        try:
            return await asyncio.shield(self.begin(question, seal=seal))
        except RunnerError as error:
            self._fail(error.brief)
            raise RequestRefusedError(DESK_REFUSED, status=403) from None

    def begin(self, question: Awaitable[_T], *, seal: bool = True) -> asyncio.Future[_T]:
        """Ask without waiting; `end` does."""
        task = asyncio.ensure_future(question)
        self._asked.add(task)
        task.add_done_callback(lambda done: self._answered(done, seal=seal))
        return task

    async def end(self, seconds: float) -> None:
        """Give everything asked a bounded time, and what it leaves to be done; then cancel it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._asked:
                    await asyncio.wait(self._asked)
        late = list(self._asked)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _answered(self, task: asyncio.Future[Any], *, seal: bool) -> None:
        self._asked.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, RunnerError):
            if seal:
                self._seal(error.brief)
        elif error is not None:
            _LOG.error("the desk failed", exc_info=error)
            self._seal(f"the desk failed: {type(error).__name__}")
