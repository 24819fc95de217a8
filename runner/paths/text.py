"""A path as text: what is refused unseen, and how the CLI collapses the rest (sdk.md §3).

Nothing is decoded, expanded or brought into a Unicode normal form: a name is its exact characters (cases 9, 13).
"""

from __future__ import annotations

import re

from runner.model import WORKSPACE
from runner.paths.view import PathRefusal

#: PATH_MAX of Linux counts the closing NUL; the CLI's own cap is the same (case 17).
MAX_PATH_BYTES = 4095
MAX_NAME_BYTES = 255
#: The container's home: where the CLI takes a leading `~`.
HOME = "/home/agent"
#: What JavaScript's `trim` takes off both ends. Python's `strip` differs: U+FEFF, and U+001C to U+001F.
BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_VARIABLE = re.compile(r"\$[A-Za-z_{(]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|file:", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """The absolute path the CLI makes of a path argument, links not followed: its hook shows a Read's path like this.

    Idempotent. It proves nothing; `resolve` does.
    """
    while True:
        collapsed = _collapse(text)
        if collapsed == text:
            return collapsed
        text = collapsed


def check_text(text: str) -> PathRefusal | None:
    """Refuse a path for its text alone, before anything is looked up (cases 4, 7, 11, 16, 17; R48, R50)."""
    refusal = check_characters(text) or _check_expansions(text)
    if refusal is not None:
        return refusal
    if text != text.strip(BLANKS) or _collapse(text).endswith(tuple(BLANKS)):
        return PathRefusal(
            rule="blank_edges", reason="The path starts or ends with blanks, which one reader drops and another keeps."
        )
    if any(len(name.encode()) > MAX_NAME_BYTES for name in text.split("/")):
        return PathRefusal(rule="path_too_long", reason=f"A name in the path is longer than {MAX_NAME_BYTES} bytes.")
    return None


def check_characters(text: str) -> PathRefusal | None:
    """Refuse what is no usable text for a path or a pattern: empty, NUL, surrogates, over-long."""
    if not text.strip(BLANKS):
        return PathRefusal(rule="empty_path", reason="The path is empty.")
    if "\0" in text:
        return PathRefusal(rule="nul_in_path", reason="The path holds a NUL byte.")
    if len(text) > MAX_PATH_BYTES or _SURROGATE.search(text):
        return PathRefusal(rule="path_too_long", reason="The path is over-long or no text that can be encoded.")
    if len(text.encode()) > MAX_PATH_BYTES or len(normalise(text).encode()) > MAX_PATH_BYTES:
        return PathRefusal(rule="path_too_long", reason=f"The path is longer than {MAX_PATH_BYTES} bytes.")
    return None


def check_expanding(text: str) -> PathRefusal | None:
    """Refuse what some reader would expand: a home directory, a variable, a URL."""
    if text.startswith("~"):
        return PathRefusal(
            rule="home_path", reason="A path that starts with ~ leads to a home directory, outside the workspace."
        )
    if _VARIABLE.search(text):
        return PathRefusal(
            rule="variable_in_path", reason="The path holds a variable; variables are never expanded and cannot be checked."
        )
    if _SCHEME.match(text):
        return PathRefusal(rule="url_as_path", reason="A URL is not a path; give a path beneath the workspace.")
    return None


def absolute(text: str) -> str:
    """The path as written, made absolute and not collapsed."""
    return text if text.startswith("/") else f"{WORKSPACE}/{text}"


def _check_expansions(text: str) -> PathRefusal | None:
    trimmed = text.strip(BLANKS)
    beneath = _collapse(text).removeprefix(f"{WORKSPACE}/")
    # The hook shows `/workspace/file:/x` for `file:///x`: both spellings get the same answer. `/workspace/~` is a plain name.
    return check_expanding(trimmed) or (check_expanding(beneath) if not beneath.startswith("~") else None)


def _collapse(text: str) -> str:
    trimmed = text.strip(BLANKS)
    if trimmed == "~" or trimmed.startswith("~/"):
        trimmed = HOME + trimmed[1:]
    names: list[str] = []
    for name in absolute(trimmed).split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    return "/" + "/".join(names)
