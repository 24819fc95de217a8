"""Pictures are decoded apart and written anew: the same pixels for person and model, and nothing else of the file (I1, R2)."""

from __future__ import annotations

import asyncio
import zlib

import pytest

from runner.captures import BOUNDS, from_json, sniff, to_json
from runner.errors import CaptureError
from runner.model import OWNER as OWN
from runner.model import Capture, Image
from runner.sandbox.engine import Engine
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL
from runner.supervisor.pictures import Studio
from tests.helpers import pictures
from tests.helpers.pictures import GREEN, OBEY, RED, WHITE, chunk
from tests.helpers.sandbox_fixtures import OWNER

pytestmark = pytest.mark.docker
BOOT = "pictures"
TEXTS = chunk(b"tEXt", b"Comment\0" + OBEY) + chunk(b"iTXt", b"Description\0\0\0\0\0" + OBEY) + chunk(b"eXIf", b"MM\0*" + OBEY)
PROFILE = chunk(b"iCCP", b"p\0\0" + zlib.compress(OBEY))


def clean(engine: Engine, *files: bytes) -> tuple[Image, ...]:
    """What a capture's pictures become."""
    given = tuple(Image(name=f"{at}.png", media_type="image/png", data=data) for at, data in enumerate(files))
    studio = Studio(engine=engine, owner=OWNER, boot=BOOT)
    return asyncio.run(studio.clean(Capture(agent="a", images=given), sender=OWN)).images


def left(engine: Engine) -> tuple[str, ...]:
    """Containers of ours that are still there."""
    return asyncio.run(engine.find({STATE_LABEL: OWNER, BOOT_LABEL: BOOT}))


def all_of(colour: bytes, data: bytes) -> bool:
    """Whether a picture is this colour, as near as a lossy file has it."""
    _, _, samples = pictures.pixels(data)
    return all(abs(got - wanted) <= 8 for got, wanted in zip(samples, colour * (len(samples) // 3), strict=True))


@pytest.mark.parametrize(
    ("file", "colour"),
    [
        (pictures.png(), RED),
        (pictures.png(more=TEXTS + PROFILE), RED),
        (pictures.png() + b"<html><script>alert(1)</script></html>" + OBEY, RED),
        (pictures.png(b"\xff\0\0\0", colour=6), WHITE),
        (pictures.png(b"\xff\0\0\xff", colour=6), RED),
        (pictures.png(b"\xff\xff\0\0\0\0", depth=16), RED),
        (pictures.png(more=chunk(b"acTL", b"\0\0\0\2\0\0\0\0")), RED),
        (pictures.MOVING_GIF, RED),
        (pictures.JPEG, RED),
        (pictures.JPEG + b"<?php " + OBEY + b" ?>", RED),
        (pictures.CMYK_JPEG, RED),
        (pictures.WEBP, RED),
        (pictures.MOVING_WEBP, RED),
        (pictures.CLEAR_WEBP, WHITE),
    ],
    ids=[
        *(
            "plain",
            "texts, EXIF and ICC in chunks",
            "a page behind it",
            "transparent",
            "opaque",
            "16 bits",
            "APNG's first frame",
        ),
        *("GIF's first frame", "JPEG with EXIF and comment", "JPEG with a script behind", "four inks", "WebP"),
        *("WebP's first frame", "transparent WebP"),
    ],
)
def test_only_the_pixels_of_the_first_frame_go_on(engine: Engine, file: bytes, colour: bytes) -> None:
    """I1; items 102, 106: metadata, profile, trailing bytes and later frames are gone; what is clear stands on white."""
    (made,) = clean(engine, file)
    assert (made.name, made.media_type) == ("0.png", "image/png")
    assert pictures.pixels(made.data)[:2] == (16, 8)
    assert all_of(colour, made.data)
    assert not all_of(GREEN, made.data)
    assert OBEY not in made.data
    assert left(engine) == ()


def test_grey_stays_grey(engine: Engine) -> None:
    made = clean(engine, pictures.GREY_JPEG, pictures.png(b"\x80", colour=0))
    assert [len(pictures.pixels(one.data)[2]) for one in made] == [16 * 8] * 2


def test_a_large_picture_is_shrunk_to_what_a_model_sees_whole(engine: Engine) -> None:
    """I1, items 99, 100, 103: what it shows, legible or not, is data; nobody shrinks it after it was looked at."""
    (made,) = clean(engine, pictures.noise(1500, 1100))
    width, height, _ = pictures.pixels(made.data)
    assert max(width, height) <= BOUNDS.shown_side
    assert 0.5 * BOUNDS.shown_bytes < len(made.data) <= BOUNDS.shown_bytes


@pytest.mark.parametrize(
    "file",
    [
        pictures.png()[:60],
        pictures.head(16, 8) + chunk(b"IEND", b""),
        pictures.head(8000, 4000) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""),
        pictures.head(16, 8) + chunk(b"IDAT", OBEY) + chunk(b"IEND", b""),
        pictures.gif(16, 8, frame=(65535, 65535)),
        pictures.gif(16, 8, frame=(400, 300)),
        pictures.WEBP[:30],
        pictures.JPEG[:40] + pictures.JPEG[160:200],
    ],
    ids=["cut", "no pixels", "too few pixels", "no zlib", "a frame of 4 gigapixels", "a larger frame", "WebP cut", "JPEG cut"],
)
def test_what_cannot_be_decoded_to_its_own_size_is_refused(engine: Engine, file: bytes) -> None:
    """I1, item 106: in a container with a bound on memory, time and answer; nothing of it is kept."""
    with pytest.raises(CaptureError, match="cannot take image 1: "):
        clean(engine, file)
    assert left(engine) == ()


def test_one_picture_that_is_none_ends_the_others_and_leaves_no_container(engine: Engine) -> None:
    """I1: the rest of its capture is given up, whatever became of it so far."""
    with pytest.raises(CaptureError, match="image 2"):
        clean(engine, pictures.png(), pictures.head(16, 8) + b"x", *[pictures.noise(400, 400)] * 4)
    assert left(engine) == ()


def test_a_stream_that_unpacks_to_far_more_than_its_picture_is_read_no_further(engine: Engine) -> None:
    """Item 106: 40 megabytes of zeros behind 16 by 8 pixels."""
    bomb = pictures.head(16, 8) + chunk(b"IDAT", zlib.compress(bytes(40_000_000))) + chunk(b"IEND", b"")
    try:
        (made,) = clean(engine, bomb)
    except CaptureError:
        return
    assert pictures.pixels(made.data)[:2] == (16, 8)


@pytest.mark.parametrize(
    "file",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script><foreignObject/></svg>",
        b"\0\0\0\x18ftypavif",
        b"BM" + bytes(60),
        b"II*\0" + bytes(60),
        b"%PDF-1.7",
        b"",
    ],
    ids=["SVG", "AVIF", "BMP", "TIFF", "PDF", "nothing"],
)
def test_what_is_none_of_four_kinds_reaches_no_decoder(engine: Engine, file: bytes) -> None:
    """I1, item 104."""
    with pytest.raises(CaptureError, match="no PNG, JPEG, GIF or WebP"):
        clean(engine, file)


def test_a_screenshot_stays_as_large_as_a_model_sees_it_and_the_capture_reads_back(engine: Engine) -> None:
    """F9, I1: the stored form is the one that is looked at and sent."""
    made = clean(engine, pictures.png(width=3000, height=2000), pictures.png())
    width, height, _ = pictures.pixels(made[0].data)
    assert 0.99 * BOUNDS.shown_pixels < width * height <= BOUNDS.shown_pixels
    stored = Capture(agent="a", images=made)
    assert from_json(to_json(stored)) == stored
    assert all(sniff(one.data) is not None for one in made)
