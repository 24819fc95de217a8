"""How large a capture may be: the one documented table. Text fields are cut with a mark, everything else is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.fence import FIELDS, FieldBound


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Caps of a capture. `text` holds characters, lines and bytes per text field; over them text is cut."""

    text: Mapping[str, FieldBound]
    labels: int = 64
    images: int = 8
    image_bytes: int = 5 * 1024 * 1024
    image_side: int = 8_000
    image_pixels: int = 32_000_000
    shown_side: int = 1_568  #: pixels of the longer side that a model sees whole
    shown_pixels: int = 1_150_000  #: of one picture, likewise
    shown_bytes: int = 480_000  #: a little above, the CLI makes a JPEG of it, and the model sees another picture (measured)
    images_bytes: int = 20 * 1024 * 1024
    wire_bytes: int = 32 * 1024 * 1024  #: the whole JSON text
    image_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")


BOUNDS = Bounds(text=FIELDS)
