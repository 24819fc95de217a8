"""Builders of valid values: each names only what its test is about."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.digest import digest_json, parse_call
from runner.model import Digest, Json, Profile, ToolCall


def a_profile(**changes: Any) -> Profile:
    """A scribe-like profile with all file tools; `changes` replace fields."""
    base = Profile(
        name="scribe",
        digest=Digest("sha256:" + "0" * 64),
        description="Reads a folder and writes summaries into it",
        kind="claude-sdk",
        model="claude-sonnet-4-5",
        system_prompt="You summarise.",
        cwd=Path("/srv/agents/scribe"),
        tools=("Read", "Glob", "Grep", "Write", "Edit"),
    )
    profile = replace(base, **changes)
    return replace(profile, digest=digest_json("test.profile", repr(profile)))


def a_call(tool: str = "Read", arguments: Json | None = None, *, raw: str | None = None) -> ToolCall:
    """A tool call; `raw` overrides the JSON text of `arguments`."""
    text = raw if raw is not None else json.dumps({"file_path": "in.txt"} if arguments is None else arguments)
    return parse_call(tool, text)
