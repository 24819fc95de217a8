"""What kind of text some bytes are. Pure."""

from __future__ import annotations


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8 without NUL."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def all_crlf(data: bytes) -> bool:
    """Whether there are line ends and every one is CRLF."""
    return b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n") == data.count(b"\r")
