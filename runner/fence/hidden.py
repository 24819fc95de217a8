"""What a text hid from whoever looked at it, field by field: counts by class, and what the characters spell (U4). Pure.

For people only: nothing here goes into a prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from runner.fence.classes import decode_hidden
from runner.fence.escape import escape_counting
from runner.model import Capture

#: Characters of a spelled text that are told; the count says how many there were.
MAX_SPELLED = 2_000


class Hidden(NamedTuple):
    """A field, how many characters of each class were made visible in it, and what tags and selectors spelled."""

    field: str
    counts: Mapping[str, int]
    spelled: str


def texts_of(capture: Capture) -> list[tuple[str, str]]:
    """Every text of a capture with its label, the sender's own words among them."""
    texts = [("url", capture.url), ("title", capture.title)]
    texts += [(f"label {at}", label) for at, label in enumerate(capture.labels, 1)]
    texts += [("note", capture.note), ("intent", capture.intent), ("text", capture.text)]
    return [*texts, *((f"image {at}", image.name) for at, image in enumerate(capture.images, 1))]


def hidden_in(texts: Iterable[tuple[str, str]]) -> tuple[Hidden, ...]:
    """The fields that hid something, counted as the fence makes it visible; honest spelling counts for nothing."""
    found = []
    for field, text in texts:
        counts = escape_counting(text).counts
        if counts:
            found.append(Hidden(field, counts, decode_hidden(text)[:MAX_SPELLED]))
    return tuple(found)
