"""A profile as a JSON document of the store, and the digest over all of it that runs refer to."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter, ValidationError

from runner.digest import MalformedJsonError, digest_json
from runner.errors import ProfileError
from runner.model import Digest, Json, JsonObject, Profile


def to_json(profile: Profile) -> JsonObject:
    """The whole profile as a JSON document."""
    return cast("JsonObject", _plain(profile))


def from_json(document: JsonObject) -> Profile:
    """The profile a document holds. Its digest is taken from the document's content, whatever the document says it is.

    A key that a newer version added may be missing and then has its default; the digest stays what it was.

    Raises:
        ProfileError: Not a profile of this version or an older one.
    """
    try:
        text = json.dumps({**document, "digest": ""}, allow_nan=False)
        profile = _adapter().validate_json(text, strict=True)
        content = {key: value for key, value in document.items() if key != "digest"}
        digest = _digest(content)
    except (ValidationError, MalformedJsonError, TypeError, ValueError, RecursionError) as error:
        raise _unreadable(str(error).splitlines()[0]) from None
    if not _covers(to_json(profile), content):
        raise _unreadable("it has a key that this version does not know")
    return replace(profile, digest=digest)


def profile_digest(profile: Profile) -> Digest:
    """Digest over every field but the digest itself."""
    document = to_json(profile)
    del document["digest"]
    return _digest(document)


def _unreadable(why: str) -> ProfileError:
    return ProfileError(
        "cannot read a stored profile: it does not have the form of one", details=why, resolution="publish the profile again"
    )


def _digest(content: JsonObject) -> Digest:
    return digest_json("runner.profile.v1", content)


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Profile]:
    return TypeAdapter(Profile)


def _plain(value: object) -> Json:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return cast("str", value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return cast("Json", value)


def _covers(known: Json, content: Json) -> bool:
    """Whether `content` says nothing that `known` does not say too."""
    if isinstance(known, dict) and isinstance(content, dict):
        return all(key in known and _covers(known[key], value) for key, value in content.items())
    if isinstance(known, list) and isinstance(content, list):
        return len(known) == len(content) and all(map(_covers, known, content))
    return known == content
