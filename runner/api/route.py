"""One operation of the control API as a value: method, path, access, body cap, handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.service import Service
from runner.model import Json

Handler: TypeAlias = Callable[[Service, Ask], Awaitable[Json]]

SMALL = 64 * 1024
#: A body with a whole input in it: JSON within JSON, every sign of it perhaps written as six.
INPUT = 2 * 1024 * 1024
#: Characters of a call's input; the gate takes fewer bytes of it.
MAX_INPUT = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation. `cap` bounds the body in bytes; 0: there is none.

    `releases`: it lets something happen, now or from now on, so admission is asked first (W2, W3).
    """

    method: str
    path: str
    access: Access
    handler: Handler
    cap: int = 0
    releases: bool = False
