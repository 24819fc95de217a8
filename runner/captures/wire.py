"""The JSON form of a capture: parsed strictly, bounded, turned into the shared value (cli.md, R8).

Lone surrogates, duplicate keys and numbers out of range are refused with the JSON; unknown keys, wrong types and missing
content with the model. The fence is total all the same, for texts that come another way.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from runner.captures.bounds import BOUNDS
from runner.captures.images import sniff
from runner.digest import MalformedJsonError, parse_strict
from runner.errors import CaptureError
from runner.fence import cut_raw
from runner.model import Capture, Image, Json, JsonObject

_AGENT = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}$")]
_SURROGATE = re.compile("[\ud800-\udfff]")
_HINT = "a capture is a JSON object with agent, note, intent, url, title, labels, text, images, strict (docs/captures.md)"


class _ImageForm(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str = ""
    media_type: str
    data: str


class _CaptureForm(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    agent: _AGENT
    note: str = ""
    intent: str = ""
    url: str = ""
    title: str = ""
    labels: list[str] = []
    text: str = ""
    images: list[_ImageForm] = []
    strict: bool = False


class _StoredForm(_CaptureForm):
    truncated: dict[str, int] = {}


_Form = TypeVar("_Form", bound=_CaptureForm)


def parse(capture: str | bytes | Mapping[str, Json], *, agent: str | None = None) -> Capture:
    """A capture from its JSON text or object.

    Over-long text is cut where a reader sees the end of a character, and `truncated` maps the field to its full length in
    characters: `note`, `intent`, `url`, `title`, `text`, `label 1`…, `image 1`… (the image's name).

    Args:
        capture: The JSON text, its UTF-8 bytes, or the object read from it.
        agent: Whom it is for, whatever the capture says.

    Raises:
        CaptureError: Malformed, an unknown key, a wrong type, too many or too large parts, or none of note, text and images.
    """
    fields = dict(_object(capture))
    if agent is not None:
        fields["agent"] = agent
    return _bounded(_validated(_CaptureForm, fields))


def to_json(capture: Capture) -> JsonObject:
    """The object that `from_json` reads back to an equal capture."""
    images: list[Json] = [
        {"name": image.name, "media_type": image.media_type, "data": base64.b64encode(image.data).decode()}
        for image in capture.images
    ]
    return {
        "agent": capture.agent,
        "note": capture.note,
        "intent": capture.intent,
        "url": capture.url,
        "title": capture.title,
        "labels": list(capture.labels),
        "text": capture.text,
        "images": images,
        "strict": capture.strict,
        "truncated": dict(capture.truncated),
    }


def from_json(stored: str | bytes | Mapping[str, Json]) -> Capture:
    """A capture that `to_json` wrote: the same checks, and `truncated` kept.

    Raises:
        CaptureError: It is none.
    """
    form = _validated(_StoredForm, _object(stored))
    return _bounded(form, truncated=form.truncated)


def _object(capture: str | bytes | Mapping[str, Json]) -> Mapping[str, Json]:
    if isinstance(capture, Mapping):
        return _clean(capture)
    size = len(capture) if isinstance(capture, bytes) else len(capture.encode("utf-8", "surrogatepass"))
    if size > BOUNDS.wire_bytes:
        raise CaptureError(f"cannot take the capture: {size} bytes, at most {BOUNDS.wire_bytes}")
    try:
        value = parse_strict(capture.decode() if isinstance(capture, bytes) else capture)
    except UnicodeDecodeError:
        raise CaptureError("cannot take the capture: it is not UTF-8", resolution=_HINT) from None
    except MalformedJsonError as error:
        raise CaptureError(f"cannot take the capture: {error}", resolution=_HINT) from None
    if not isinstance(value, dict):
        raise CaptureError("cannot take the capture: it is not a JSON object", resolution=_HINT)
    return value


def _clean(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    """An object that came past the strict parser holds no lone surrogate either."""
    try:
        text = json.dumps(dict(fields), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise CaptureError("cannot take the capture: it is not JSON", resolution=_HINT) from None
    if _SURROGATE.search(text):
        raise CaptureError("cannot take the capture: a lone surrogate is not text", resolution=_HINT)
    return fields


def _validated(form: type[_Form], fields: Mapping[str, Json]) -> _Form:
    try:
        return form.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(ascii(part)[:40].strip("'") for part in first["loc"]) or "capture"
        raise CaptureError(f"cannot take the capture: {where}: {first['msg']}", resolution=_HINT) from None


def _bounded(form: _CaptureForm, *, truncated: Mapping[str, int] = MappingProxyType({})) -> Capture:
    if len(form.labels) > BOUNDS.labels:
        raise CaptureError(f"cannot take the capture: {len(form.labels)} labels, at most {BOUNDS.labels}")
    cuts = dict(truncated)

    def kept(field: str, text: str) -> str:
        short = cut_raw(text, BOUNDS.text[field.split(maxsplit=1)[0]])
        if short != text:
            cuts[field] = max(len(text), cuts.get(field, 0))
        return short

    capture = Capture(
        agent=form.agent,
        note=kept("note", form.note),
        intent=kept("intent", form.intent),
        url=kept("url", form.url),
        title=kept("title", form.title),
        labels=tuple(kept(f"label {at}", label) for at, label in enumerate(form.labels, 1)),
        text=kept("text", form.text),
        images=tuple(
            Image(name=kept(f"image {at}", image.name), media_type=image.media_type, data=data)
            for at, (image, data) in enumerate(zip(form.images, _pictures(form.images), strict=True), 1)
        ),
        strict=form.strict,
        truncated=MappingProxyType(cuts),
    )
    if not (capture.note.strip() or capture.text.strip() or capture.images):
        raise CaptureError("cannot take the capture: it has no note, no text and no image", resolution=_HINT)
    return capture


def _pictures(images: list[_ImageForm]) -> list[bytes]:
    if len(images) > BOUNDS.images:
        raise CaptureError(f"cannot take the capture: {len(images)} images, at most {BOUNDS.images}")
    pictures = [_picture(image, at) for at, image in enumerate(images, 1)]
    if sum(map(len, pictures)) > BOUNDS.images_bytes:
        raise CaptureError(f"cannot take the capture: its images are larger than {BOUNDS.images_bytes} bytes together")
    return pictures


def _picture(image: _ImageForm, at: int) -> bytes:
    """One image's bytes, checked by what they are and not by what they are called."""
    if len(image.data) > BOUNDS.image_bytes * 4 // 3 + 4:
        raise CaptureError(f"cannot take image {at}: it is larger than {BOUNDS.image_bytes} bytes")
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise CaptureError(f"cannot take image {at}: its data is not base64") from None
    if len(data) > BOUNDS.image_bytes:
        raise CaptureError(f"cannot take image {at}: it is larger than {BOUNDS.image_bytes} bytes")
    facts = sniff(data)
    if facts is None:
        raise CaptureError(f"cannot take image {at}: it is no PNG, JPEG, GIF or WebP picture")
    if facts.media_type != image.media_type:
        raise CaptureError(f"cannot take image {at}: it is {facts.media_type} and is called something else")
    if max(facts.width, facts.height) > BOUNDS.image_side or facts.width * facts.height > BOUNDS.image_pixels:
        raise CaptureError(f"cannot take image {at}: {facts.width} by {facts.height} pixels is too large")
    return data
