"""Profiles: TOML in, frozen `Profile` out; what is unclear, unknown or wrong in it is an error that names file and key."""

from __future__ import annotations

from typing import cast

from runner.model import JsonObject
from runner.profiles.codec import from_json, profile_digest, to_json
from runner.profiles.difference import Change, Direction, changes
from runner.profiles.findings import Finding, Level, check
from runner.profiles.load import line_of, load, parse
from runner.profiles.load import load as load_profile
from runner.profiles.skeleton import skeleton
from runner.profiles.survey import Survey, survey
from runner.profiles.wire import HIDE_DEFAULTS, ProfileTable

__all__ = [
    "HIDE_DEFAULTS",
    "Change",
    "Direction",
    "Finding",
    "Level",
    "Survey",
    "changes",
    "check",
    "from_json",
    "json_schema",
    "line_of",
    "load",
    "load_profile",
    "parse",
    "profile_digest",
    "skeleton",
    "survey",
    "to_json",
]


def json_schema() -> JsonObject:
    """JSON Schema of the TOML format, a description per key."""
    return cast("JsonObject", ProfileTable.model_json_schema(by_alias=True))
