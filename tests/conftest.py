"""What holds for every tier."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says something about the machine, not about the code: no test here depends on a clock.
settings.register_profile("runner", deadline=None)
settings.load_profile("runner")
