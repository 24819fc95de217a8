"""Makes the harness known here."""

from __future__ import annotations

from tests.helpers.agent_harness import agent

__all__ = ["agent"]
