"""What a gateway has to find in a run's conversation: what was asked, with which pictures, and what was said before."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from runner.fence import Prompt
from runner.gateway import Asked, Conversation, picture
from runner.supervisor.resume import NUDGE

#: Tools of the CLI's own that give pictures and documents.
READERS = frozenset({"Read"})


def conversation_of(prompts: Sequence[Prompt], *, past: Sequence[str] = ()) -> Conversation:
    """The conversation of a run.

    Args:
        prompts: What the runs of its thread were asked, this one last.
        past: The transcript's lines that its container is given.
    """
    lines = [line for line in map(json.loads, past) if isinstance(line, dict)]
    return Conversation(prompts=tuple(map(_asked, prompts)), nudges=frozenset({NUDGE}), past=tuple(lines), readers=READERS)


def _asked(prompt: Prompt) -> Asked:
    pictures = tuple(picture(base64.standard_b64encode(image.data).decode()) for image in prompt.images)
    return Asked(text=prompt.text, pictures=pictures)
