"""One request's money, from the reservation to what it came to, whatever becomes of whoever asked (M11).

Owns who pays for a request that ends early: an upstream that refuses before it begins is paid nothing; a container that hangs
up pays for what it had sent, since the model had it by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from runner.gateway.asking import Asking
from runner.gateway.purse import Hold, Purse, Spent


class Till:
    """Reserves and settles for one gateway."""

    def __init__(self, purse: Purse, asking: Asking) -> None:
        self._purse, self._asking = purse, asking

    async def set_aside(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        """As `Purse.reserve`; a reservation that comes when nobody waits for it any more is given back.

        Raises:
            RequestRefusedError: There is not enough left.
        """
        reserving = asyncio.ensure_future(self._purse.reserve(most=most, count=count, max_tokens=max_tokens))
        try:
            return await self._asking.ask(reserving, seal=False)
        except asyncio.CancelledError:
            reserving.add_done_callback(self._give_back)
            raise

    async def settle(self, hold: Hold, spent: Spent | None, *, refused: bool, most: int) -> None:
        """Put what was used in place of what was set aside.

        Args:
            hold: The reservation.
            spent: What the upstream says; None where it never began to answer.
            refused: It was the upstream that ended it, before it began.
            most: Tokens that the input cannot exceed, which is what a hang-up costs.
        """
        if spent is None and not refused:
            spent = Spent(cache_write_tokens=most, complete=False)
        await self._asking.ask(self._purse.settle(hold, spent))

    def _give_back(self, reserving: asyncio.Task[Hold]) -> None:
        if not reserving.cancelled() and reserving.exception() is None:
            self._asking.begin(self._purse.settle(reserving.result(), None))
