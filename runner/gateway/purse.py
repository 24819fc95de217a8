"""What a request may cost before it is forwarded, and what it did cost afterwards (M11): the seam to whoever keeps the books.

Owns the bound on a request's input and the fitting of its reply into what is left. Nothing here knows a price.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from runner.model import Json, JsonObject

#: Least room a reply is worth asking for; with thinking on, half of it is for the words.
MIN_REPLY = 2048
#: Most that a picture counts as, and a page of a document with its picture.
_PICTURE, _PAGE = 1_700, 3_500
#: Most pages that the provider takes; how many a document has its bytes do not say, since they are compressed.
_PAGES = 600
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A reservation: its id in the books, and how many tokens the reply may have."""

    id: str
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a request used. `complete` is false where the reply was cut: what more it cost is not known."""

    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    complete: bool = True


class Purse(Protocol):
    """Keeps the books of one run."""

    async def reserve(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        """Set aside what a request may cost.

        Args:
            most: Tokens that its input cannot exceed.
            count: Asks the provider how many there are, for when `most` does not fit.
            max_tokens: Tokens that its reply may have by its own word.

        Raises:
            GatewayError: There is not enough left; the request must not go out.
            UpstreamError: The provider was asked and did not say.
        """

    async def settle(self, hold: Hold, spent: Spent | None) -> None:
        """Put what was used in place of what was set aside; None: the request never got an answer, and cost nothing."""


class Unbounded:
    """No books: for a door behind which nobody spends."""

    async def reserve(self, *, most: int, count: Callable[[], Awaitable[int]], max_tokens: int) -> Hold:
        """Whatever is asked for."""
        del most, count
        return Hold(id="", max_tokens=max_tokens)

    async def settle(self, hold: Hold, spent: Spent | None) -> None:
        """Nothing to write."""


def most_input(body: JsonObject) -> int:
    """Tokens that a request's input cannot exceed: a byte of text is never more than one, pictures and pages have a most."""
    extra, bare = 0, dict(body)
    for key in ("messages", "system", "tools"):
        if key in bare:
            cost, bare[key] = _without_data(bare[key])
            extra += cost
    return extra + sum(len(piece.encode()) for piece in _JSON.iterencode(bare))


def wanted(body: JsonObject, most: int) -> int:
    """Tokens that a request's reply may have by its own word."""
    asked = body.get("max_tokens")
    return asked if isinstance(asked, int) else most


def fit(body: JsonObject, max_tokens: int) -> None:
    """Let a request ask for no longer a reply than was set aside for it, in place."""
    body["max_tokens"] = max_tokens
    thinking = body.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(thinking, dict) and isinstance(budget, int) and budget >= max_tokens:
        body["thinking"] = {**thinking, "budget_tokens": max_tokens - MIN_REPLY // 2}


def _without_data(value: Json) -> tuple[int, Json]:
    if isinstance(value, list):
        parts = [_without_data(item) for item in value]
        return sum(cost for cost, _ in parts), [item for _, item in parts]
    if not isinstance(value, dict):
        return 0, value
    source = value.get("source")
    if isinstance(source, dict) and source.get("type") == "base64":
        return _PICTURE if value.get("type") == "image" else _PAGE * _PAGES, {"type": value.get("type")}
    if not isinstance(value.get("content"), list):
        return 0, value
    cost, content = _without_data(value["content"])
    return cost, {**value, "content": content}
