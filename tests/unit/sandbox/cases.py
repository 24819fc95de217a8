"""Builders of the sandbox tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runner.model import WORKSPACE
from runner.sandbox.spec import GATEWAY, HOME, Mount, SandboxSpec

SECCOMP = '{"defaultAction": "SCMP_ACT_ERRNO"}'


def a_spec(**changes: Any) -> SandboxSpec:
    """A spec that is in order; `changes` replace fields."""
    fields: dict[str, Any] = {
        "image": "sha256:" + "1" * 64,
        "argv": ("claude", "--version"),
        "environment": {"PATH": "/usr/bin:/bin", "HOME": str(HOME), "ANTHROPIC_API_KEY": "none"},
        "uid": 10007,
        "mounts": (
            Mount(source=Path("/srv/state/snapshot"), target=WORKSPACE),
            Mount(source=Path("/srv/state/gateway"), target=GATEWAY),
        ),
        "memory": 1024**3,
        "cpus": 1.0,
        "pids": 128,
        "seccomp": SECCOMP,
        "labels": {"runner.state": "s"},
    }
    return SandboxSpec(**{**fields, **changes})
