"""Texts that look like paths in the input of a tool whose arguments nobody declared (R50, case 19).

What cannot be checked is refused, so a text counts when its key or its shape says path, however deep it is nested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runner.model import Json

_KEY = re.compile(
    r"(?:.*[_-])?(?:path|paths|file|files|filename|filenames|dir|dirs|directory|directories|folder|folders|cwd|root|dest|destination)",
    re.IGNORECASE,
)
_SHAPE = re.compile(r"/|~|\.\.?(?:/|$)|file:|[A-Za-z]:\\|\\\\", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def loose_paths(arguments: Mapping[str, Json]) -> Iterator[str]:
    """Every text of the input that looks like a path, in document order."""
    todo: list[tuple[bool, Json]] = [(False, dict(arguments))]
    while todo:
        named, value = todo.pop()
        if isinstance(value, dict):
            todo.extend(reversed([(_names_path(key), item) for key, item in value.items()]))
        elif isinstance(value, list):
            todo.extend((named, item) for item in reversed(value))
        elif isinstance(value, str) and (named or _looks_like_path(value)):
            yield value


def _names_path(key: str) -> bool:
    return _KEY.fullmatch(_CAMEL.sub("_", key)) is not None


def _looks_like_path(text: str) -> bool:
    one_word = not any(sign.isspace() for sign in text.strip())
    return one_word and (_SHAPE.match(text.strip()) is not None or ("/../" in text and "://" not in text))
