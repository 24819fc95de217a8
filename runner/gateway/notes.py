"""What the CLI may say within a conversation in the provider's own voice: its notes, word for word, and nothing else.

For newer models it puts its notes between the messages under the role `system`, which a model obeys before its user. Measured
on CLI 2.1.332 with models of five kinds, in runs that read, wrote, were denied, parked and resumed: where it is, which model it
is, which day it is, and how many tokens are left. Nothing a file, a person or a model wrote stands in them.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

from runner.digest import objects
from runner.gateway.refusals import RequestRefusedError
from runner.model import Json

_LONGEST = 4_000
_MODEL = "<model>"  #: stands for the profile's
#: Digests of its two lines on how to treat files from elsewhere: pinned, as its introduction of itself is.
_PINNED = frozenset(
    {
        "1e7657a2d5be61114328f461f2a9c6076c3356fc49b3a725afed35b09aad6851",
        "888cdefeb39ebdc4995d0e3869fb3f4772cbf54b9c7c94343d2befaa7ee7440f",
    }
)
_LINES = (
    r"</?system-reminder>",
    r"<total_tokens>\d{1,12} tokens left</total_tokens>",
    r"# Environment",
    r"You have been invoked in the following environment: ",
    r" - Primary working directory: /workspace",
    r" - Is a git repository: (?:true|false)",
    r" - Platform: linux",
    r" - Shell: [a-z]{1,16}",
    r" - OS Version: Linux [\w.+-]{1,64}",
    rf"You are powered by the model {_MODEL}\.",
    rf"You are powered by the model named [A-Z][a-z]{{2,12}}(?: \d{{1,2}}(?:\.\d{{1,2}})?)?\. The exact model ID is {_MODEL}\."
    r"(?: Assistant knowledge cutoff is [A-Z][a-z]{2,8} \d{4}\.)?",
    r"Today's date is \d{4}-\d\d-\d\d\.",
    r"The date has changed\. Today's date is now \d{4}-\d\d-\d\d\. "
    r"No need to announce the new date \u2014 the user's own clock shows it\.",
    r"",
)


def check_notes(messages: Json, *, model: str) -> None:
    """Refuse words under the role `system` that are not the CLI's own.

    Args:
        messages: Of a re-built request.
        model: The only one it may say that it is.

    Raises:
        RequestRefusedError: There are others. In words that make an honest CLI say the same in the user's mouth, as a reminder,
            from then on (measured).
    """
    for item in messages if isinstance(messages, list) else []:
        if (
            isinstance(item, dict)
            and item["role"] == "system"
            and not all(is_note(text, model) for text in _texts(item["content"]))
        ):
            raise RequestRefusedError(
                'cannot forward the request: Unexpected role "system": what it says is none of the notes of this CLI; '
                'the input message role is "user" or "assistant"'
            )


def is_note(text: str, model: str) -> bool:
    """Whether a text is made of the CLI's own lines alone."""
    return len(text) <= _LONGEST and all(_is_line(line, model) for line in text.split("\n"))


def _is_line(line: str, model: str) -> bool:
    return _lines(model).fullmatch(line) is not None or hashlib.sha256(line.encode()).hexdigest() in _PINNED


@cache
def _lines(model: str) -> re.Pattern[str]:
    return re.compile("|".join(_LINES).replace(_MODEL, re.escape(model)), re.ASCII)


def _texts(content: Json) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [str(part["text"]) for part in objects(content)]
