"""What holds for every tier."""

from __future__ import annotations

from hypothesis import settings

from tests.helpers.sandbox_fixtures import engine, sandbox_image

__all__ = ["engine", "sandbox_image"]

# How long an example takes says something about the machine, not about the code: no test here depends on a clock.
settings.register_profile("runner", deadline=None)
settings.load_profile("runner")
