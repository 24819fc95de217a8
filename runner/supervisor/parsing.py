"""A stored profile as the value it was published as."""

from __future__ import annotations

import json

from runner.model import Profile
from runner.profiles import from_json
from runner.store import ProfileRow


def parsed(stored: ProfileRow) -> Profile:
    """The profile of a row."""
    return from_json(json.loads(stored.text))
