"""A capture from outside: strict, bounded, and the same when stored and read again (R8; cli.md Capture)."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from runner.captures import BOUNDS, from_json, parse, sniff, to_json
from runner.captures.images import ImageFacts
from runner.errors import CaptureError
from runner.model import Capture, Image


def png(width: int = 2, height: int = 3) -> bytes:
    head = struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def jpeg(width: int = 2, height: int = 3) -> bytes:
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 6) + b"JFIF" + frame


def gif(width: int = 2, height: int = 3) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def webp(kind: bytes = b"VP8X", width: int = 2, height: int = 3) -> bytes:
    body = {
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }[kind]
    return b"RIFF" + struct.pack("<I", 12 + len(body)) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


def image(data: bytes, media_type: str = "image/png", name: str = "a.png") -> dict[str, str]:
    return {"name": name, "media_type": media_type, "data": base64.b64encode(data).decode()}


def refusal(capture: Any, **more: Any) -> str:
    with pytest.raises(CaptureError) as caught:
        parse(capture, **more)
    return caught.value.brief.removeprefix("cannot take ")


FULL: dict[str, Any] = {
    "agent": "scribe",
    "note": "n\n\u202e",
    "intent": "i",
    "url": "https://x",
    "title": "t",
    "labels": ["l1", "l2"],
    "text": "é😀",
    "images": [image(png())],
}
PARSED = Capture(
    agent="scribe",
    note="n\n\u202e",
    intent="i",
    url="https://x",
    title="t",
    labels=("l1", "l2"),
    text="é😀",
    images=(Image(name="a.png", media_type="image/png", data=png()),),
)


def test_a_whole_capture_is_the_same_from_text_bytes_and_object():
    text = json.dumps(FULL, ensure_ascii=False)
    assert [parse(text), parse(text.encode()), parse(FULL)] == [PARSED] * 3


@pytest.mark.parametrize("content", [{"note": "n"}, {"text": "t"}, {"images": [image(png())]}])
def test_one_of_note_text_and_images_is_enough(content):
    assert parse({"agent": "a", **content}).agent == "a"


@pytest.mark.parametrize("content", [{}, {"note": " \n"}, {"url": "u", "title": "t", "intent": "i", "labels": ["l"]}])
def test_a_capture_that_says_nothing_is_refused(content):
    assert refusal({"agent": "a", **content}) == "the capture: it has no note, no text and no image"


def test_whom_it_is_for_can_be_said_beside_it():
    assert parse({"note": "n"}, agent="scribe") == Capture(agent="scribe", note="n")
    assert parse({"agent": "other", "note": "n"}, agent="scribe").agent == "scribe"
    assert refusal({"note": "n"}) == "the capture: agent: Field required"
    for name in ["", "A", "a b", "a\n", "a" * 41, "../x"]:
        assert refusal({"note": "n"}, agent=name).startswith("the capture: agent: String should match pattern")


@pytest.mark.parametrize(
    ("capture", "why"),
    [
        ("", "the capture: not JSON"),
        ("[]", "the capture: it is not a JSON object"),
        (b"\xff{}", "the capture: it is not UTF-8"),
        ('{"note": "a", "note": "b"}', "the capture: an object repeats a key"),
        ('{"note": "\\ud800"}', "the capture: a lone surrogate is not text"),
        ({"note": "\ud800"}, "the capture: a lone surrogate is not text"),
        ({"note": "n", "labels": ["\udfff"]}, "the capture: a lone surrogate is not text"),
        ({"note": {1}}, "the capture: it is not JSON"),
        ("[" * 100 + "]" * 100, "the capture: nested deeper than 64 levels"),
        ({"note": ["n"]}, "the capture: note: Input should be a valid string"),
        ({"note": 1}, "the capture: note: Input should be a valid string"),
        ({"note": None}, "the capture: note: Input should be a valid string"),
        ({"note": "n", "labels": "l"}, "the capture: labels: Input should be a valid list"),
        ({"note": "n", "via": "you"}, "the capture: via: Extra inputs are not permitted"),
        ({"note": "n", "sender": "you"}, "the capture: sender: Extra inputs are not permitted"),
        ({"note": "n", "truncated": {}}, "the capture: truncated: Extra inputs are not permitted"),
        ({"note": "n", "a\x1b[2J": 1}, "the capture: a\\x1b[2J: Extra inputs are not permitted"),
        ({"note": "n", "labels": ["l"] * 65}, "the capture: 65 labels, at most 64"),
        ({"note": "n", "images": [image(png())] * 9}, "the capture: 9 images, at most 8"),
        ({"images": [{"data": ""}]}, "the capture: images.0.media_type: Field required"),
        ({"images": [{**image(png()), "alt": "x"}]}, "the capture: images.0.alt: Extra inputs are not permitted"),
        ({"images": [{**image(png()), "data": "not base64!"}]}, "image 1: its data is not base64"),
        ({"images": [{**image(png()), "data": "é"}]}, "image 1: its data is not base64"),
        ({"images": [image(b"")]}, "image 1: it is no PNG, JPEG, GIF or WebP picture"),
        ({"images": [image(b"<svg/>", "image/svg+xml")]}, "image 1: it is no PNG, JPEG, GIF or WebP picture"),
        ({"images": [image(png(), "image/jpeg")]}, "image 1: it is image/png and is called something else"),
        ({"images": [image(png(), 'image/png" fence="x')]}, "image 1: it is image/png and is called something else"),
        ({"images": [image(png()), image(png(8001, 1))]}, "image 2: 8001 by 1 pixels is too large"),
        ({"images": [image(png(8000, 8000))]}, "image 1: 8000 by 8000 pixels is too large"),
        ({"images": [image(png(0, 3))]}, "image 1: it is no PNG, JPEG, GIF or WebP picture"),
    ],
)
def test_a_malformed_or_oversized_capture_is_refused(capture, why):
    """Cases 62, 63, 104, 106 of the fence's list among them."""
    if isinstance(capture, dict):
        capture = {"agent": "a", **capture}
    assert refusal(capture).startswith(why)


def test_sizes_are_checked_before_anything_is_decoded(monkeypatch):
    too_large = "A" * (BOUNDS.image_bytes * 4 // 3 + 8)
    capture = {"agent": "a", "images": [{"name": "", "media_type": "image/png", "data": too_large}]}
    assert refusal(capture) == f"image 1: it is larger than {BOUNDS.image_bytes} bytes"
    large = image(png() + bytes(BOUNDS.image_bytes - 100))
    assert refusal({"agent": "a", "images": [large] * 5}).startswith("the capture: its images are larger than")
    assert refusal(" " * (BOUNDS.wire_bytes + 1)).startswith("the capture: 33554433 bytes")


def test_over_long_text_is_cut_with_its_full_length_kept():
    """R8."""
    capture = parse(
        {
            "agent": "a",
            "note": "n" * 20_001,
            "title": "t" * 999 + "e\u0301",
            "labels": ["ok", "l" * 501],
            "text": "x\n" * 30_000,
            "images": [image(png(), name="i" * 201)],
        },
    )
    assert dict(capture.truncated) == {"note": 20_001, "title": 1001, "label 2": 501, "text": 60_000, "image 1": 201}
    assert (capture.note, capture.title, capture.labels) == ("n" * 20_000, "t" * 999 + "e", ("ok", "l" * 500))
    assert capture.text == "x\n" * 19_999 + "x"
    assert capture.images[0].name == "i" * 200


@pytest.mark.parametrize("capture", [PARSED, Capture(agent="a", note="n"), Capture(agent="a", text="t", truncated={"text": 9})])
def test_what_is_stored_reads_back_equal(capture):
    stored = to_json(capture)
    assert [from_json(stored), from_json(json.dumps(stored))] == [capture, capture]


def test_what_was_stored_damaged_is_refused():
    for damage in [{"truncated": {"text": "9"}}, {"truncated": []}, {"agent": None}, {"more": 1}]:
        with pytest.raises(CaptureError):
            from_json({**to_json(PARSED), **damage})


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (png(), ImageFacts("image/png", 2, 3)),
        (jpeg(), ImageFacts("image/jpeg", 2, 3)),
        (gif(), ImageFacts("image/gif", 2, 3)),
        (webp(b"VP8X"), ImageFacts("image/webp", 2, 3)),
        (webp(b"VP8L"), ImageFacts("image/webp", 2, 3)),
        (webp(b"VP8 "), ImageFacts("image/webp", 2, 3)),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"BM" + bytes(50), None),
        (b"II*\0" + bytes(50), None),
        (b"%PDF-1.7", None),
        (b"\xff\xd8\xff" + b"\xff" * 100, None),
        (b"\xff\xd8\xff\xe0\0\0" * 100, None),
        (jpeg().replace(b"\xff\xc0", b"\xff\xc4"), None),
    ],
)
def test_a_picture_is_what_its_bytes_say(data, facts):
    assert sniff(data) == facts


@pytest.mark.parametrize("whole", [png(), jpeg(), gif(), webp(b"VP8X"), webp(b"VP8L"), webp(b"VP8 ")])
def test_a_header_cut_anywhere_is_no_picture_or_the_same(whole):
    full = sniff(whole)
    assert {sniff(whole[:size]) for size in range(len(whole))} <= {None, full}
