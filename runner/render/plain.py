"""Text for a notice: one line, no markup in any of the languages that a channel may speak (C1). Still injective.

Owns the plain form. Slack, ntfy, mail, Markdown and HTML each act on other characters, and most make a link of a dot between
two words; so what is not a letter of ASCII, a digit, a hyphen or a blank between words appears as its code.
"""

from __future__ import annotations

import re

from runner.render.text import CUT, CUT_END

#: Characters of a field.
FIELD = 60
_ACTS = re.compile(r"[^A-Za-z0-9 -]|(?<= ) |^ | $")


def plain(text: str, *, limit: int = FIELD) -> str:
    r"""`text` as a notice may carry it; everything that could act is `\u{hex}`, and so is a backslash.

    Args:
        text: What was received, however long.
        limit: Characters of it to show; how many more there were is said.
    """
    shown = _ACTS.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text[:limit])
    return shown if len(text) <= limit else f"{shown}{CUT}+{len(text) - limit}{CUT_END}"
