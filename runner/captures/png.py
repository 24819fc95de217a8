"""A PNG made of raw pixels, by the standard library alone: header, pixels, end, and no other chunk (I1). Pure."""

from __future__ import annotations

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2}


def encode(width: int, height: int, pixels: bytes, *, channels: int) -> bytes:
    """The file of an 8-bit picture.

    Args:
        width: Columns.
        height: Rows.
        pixels: Rows from the top, `channels` samples for each pixel.
        channels: 1 for grey, 3 for red, green and blue.

    Raises:
        ValueError: There are not exactly as many pixels as the size says.
    """
    line = width * channels
    if not width or not height or len(pixels) != line * height:
        raise ValueError("the pixels do not make a picture of that size")
    # Each row begins with its filter; none, since another would be worked out sample by sample.
    rows = b"".join(b"\0" + pixels[at : at + line] for at in range(0, len(pixels), line))
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 6)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
