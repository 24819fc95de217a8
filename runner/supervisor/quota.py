"""How often an attempt may ask its model, whether or not it listens to the answers (M11)."""

from __future__ import annotations

from runner.model import Limits

#: Requests of one attempt that may be begun and bring no turn: a CLI asks again after a cut reply, twice at the most.
MAX_UNFINISHED = 20


class Quota:
    """One attempt's requests. What it answers is why there may not be another, in words; None: there may.

    Args:
        limits: The profile's.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._begun = self._taken = self._counted = 0

    def request(self, *, turns: int) -> str | None:
        """A request for a reply; `turns` are those of the whole run so far."""
        if turns >= self._limits.turns:
            return f"the limit of {self._limits.turns} turns is reached"
        if self._begun - self._taken >= MAX_UNFINISHED:
            return f"{MAX_UNFINISHED} requests to the model were begun and not heard to their end"
        self._begun += 1
        return None

    def turn(self) -> None:
        """A reply came to its end."""
        self._taken += 1

    def count(self) -> str | None:
        """A question how many tokens a text has: a CLI asks it of what a call found, once."""
        most = self._limits.calls + MAX_UNFINISHED
        if self._counted >= most:
            return f"it had tokens counted {most} times"
        self._counted += 1
        return None
