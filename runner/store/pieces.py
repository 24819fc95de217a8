"""In what pieces a file's bytes are kept, and handed over. Pure."""

from __future__ import annotations

from collections.abc import Iterator

#: Bytes of a piece; the last one may be shorter.
PIECE = 1024 * 1024


def pieces(data: bytes) -> Iterator[bytes]:
    """The pieces of `data`; of nothing there is none."""
    return (data[start : start + PIECE] for start in range(0, len(data), PIECE))


def lengths(size: int) -> list[int]:
    """How long each piece is that a file of `size` bytes is asked for in; even an empty one is asked for once."""
    return [min(PIECE, size - start) for start in range(0, size, PIECE)] or [0]
