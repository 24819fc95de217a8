"""The digest binds every field of a profile."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

from runner.model import (
    ApprovalSettings,
    Digest,
    Example,
    FromAgent,
    Limits,
    Policy,
    Profile,
    SnapshotLimits,
    ToolScope,
    Verdict,
)
from runner.profiles import from_json, profile_digest, to_json
from tests.helpers.builders import a_profile

CHANGES: dict[str, object] = {
    "name": "other",
    "description": "other",
    "kind": "other",
    "model": "other",
    "system_prompt": "other",
    "cwd": Path("/other"),
    "tools": ("Read",),
    "strict": False,
    "policy": Policy.ASK,
    "unattended": True,
    "contacts": ("alice",),
    "from_agents": (FromAgent(label="build", instruction="File it."),),
    "wake": False,
    "allow_replies": True,
    "allow_unconfined_tools": True,
    "allow_hard_links": True,
    "read": ("docs/**",),
    "hide": ("x",),
    "snapshot": SnapshotLimits(max_files=1),
    "limits": Limits(turns=1),
    "approvals": ApprovalSettings(hold=1.5),
    "examples": (Example(tool="Read", raw="{}", expect=Verdict.DENY),),
    "scopes": (ToolScope(tool="Write", only=("out/**",)),),
    "unprotect": (".github",),
}


def test_every_field_is_in_the_digest() -> None:
    """Invariant 3: a run refers to exactly one authority."""
    base = a_profile()
    assert CHANGES.keys() == {field.name for field in fields(Profile)} - {"digest"}

    digests = {profile_digest(replace(base, **{name: value})) for name, value in CHANGES.items()}  # type: ignore[arg-type]

    assert len(digests | {profile_digest(base)}) == len(CHANGES) + 1


def test_the_stored_form_holds_every_field() -> None:
    for name, value in CHANGES.items():
        profile = replace(a_profile(), **{name: value})  # type: ignore[arg-type]
        profile = replace(profile, digest=profile_digest(profile))
        assert from_json(json.loads(json.dumps(to_json(profile)))) == profile


def test_the_digest_is_taken_from_the_content_and_not_believed() -> None:
    forged = replace(a_profile(), digest=Digest("sha256:" + "f" * 64))

    assert from_json(to_json(forged)).digest == profile_digest(forged) != forged.digest
