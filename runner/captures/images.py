"""What a picture is by its own first bytes: type and size, never by what its sender calls it. Pure.

Only headers are read, nothing is decoded: pixels stay data and are never called safe (R2).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from runner.captures.bounds import BOUNDS

_PNG = b"\x89PNG\r\n\x1a\n"
#: JPEG frame headers that carry a size; C4, C8 and CC are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_MAX_SEGMENTS = 4096


class ImageFacts(NamedTuple):
    """Type, width and height as the header says."""

    media_type: str
    width: int
    height: int


def sniff(data: bytes) -> ImageFacts | None:
    """Facts of a PNG, JPEG, GIF or WebP file; None for everything else (SVG among it) and for a header that is cut short."""
    for magic, media_type, size in _READERS:
        if data.startswith(magic):
            try:
                found = size(data)
            except (struct.error, IndexError):
                return None
            return None if found is None or 0 in found else ImageFacts(media_type, *found)
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    return struct.unpack_from(">II", data, 16) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if data[8:12] != b"WEBP":
        return None
    if kind == b"VP8X":
        wide, high = data[24:27], data[27:30]
        return (1 + int.from_bytes(wide, "little"), 1 + int.from_bytes(high, "little")) if len(high) == 3 else None
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = struct.unpack_from("<I", data, 21)[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(_MAX_SEGMENTS):
        while data[at] == 0xFF and data[at + 1] == 0xFF:
            at += 1
        if data[at] != 0xFF:
            return None
        if data[at + 1] in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


_READERS: tuple[tuple[bytes, str, Callable[[bytes], tuple[int, int] | None]], ...] = (
    (_PNG, "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF87a", "image/gif", _gif),
    (b"GIF89a", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
)


def room_for(facts: ImageFacts) -> tuple[int, int]:
    """Width and height that a picture is shown in: its own, or as much smaller as it must be.

    The model's provider shrinks what is larger; then the person and the model would not see the same.
    """
    area = (BOUNDS.shown_pixels / (facts.width * facts.height)) ** 0.5
    factor = min(1.0, BOUNDS.shown_side / max(facts.width, facts.height), area)
    return max(1, int(facts.width * factor)), max(1, int(facts.height * factor))


def less_room(within: tuple[int, int], *, size: int) -> tuple[int, int]:
    """What to try next when the picture's file came out `size` bytes long, and that is too long."""
    factor = min(0.9, 0.95 * (BOUNDS.shown_bytes / size) ** 0.5)
    return max(1, int(within[0] * factor)), max(1, int(within[1] * factor))


def is_animated(data: bytes) -> bool:
    """Whether a WebP file says that it has several frames."""
    return data[8:16] == b"WEBPVP8X" and len(data) > 20 and bool(data[20] & 0x02)
