"""Text about files as every database takes it. Pure."""

from __future__ import annotations


def storable(text: str) -> str:
    """Text about files may hold half characters and NULs that no database takes; they are shown as escapes."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
