"""The picture that is written anew: header, pixels, end; and what it may be at most (I1)."""

from __future__ import annotations

import pytest

from runner.captures import BOUNDS, png, sniff
from runner.captures.images import ImageFacts, is_animated, less_room, room_for
from tests.helpers import pictures


@pytest.mark.parametrize(("channels", "samples"), [(1, bytes(range(6))), (3, bytes(range(18)))])
def test_what_is_written_reads_back_and_has_three_chunks(channels: int, samples: bytes) -> None:
    """I1: no chunk but header, pixels and end."""
    data = png.encode(3, 2, samples, channels=channels)
    assert pictures.pixels(data) == (3, 2, samples)
    assert sniff(data) == ImageFacts("image/png", 3, 2)


@pytest.mark.parametrize(("width", "height", "size"), [(3, 2, 17), (3, 2, 19), (0, 2, 0), (2, 0, 0), (3, 2, 0)])
def test_pixels_that_do_not_make_that_size_are_no_picture(width: int, height: int, size: int) -> None:
    with pytest.raises(ValueError, match="do not make a picture"):
        png.encode(width, height, bytes(size), channels=3)


@pytest.mark.parametrize("size", [(1, 1), (8000, 4000), (4000, 8000), (8000, 1), (1, 8000), (1000, 1000), (1568, 733)])
def test_a_picture_is_shown_as_large_as_a_model_sees_it_and_no_larger(size: tuple[int, int]) -> None:
    """I1, F9: its own size where that is small enough."""
    width, height = room_for(ImageFacts("image/png", *size))
    assert 1 <= width <= size[0]
    assert 1 <= height <= size[1]
    assert max(width, height) <= BOUNDS.shown_side
    assert width * height <= BOUNDS.shown_pixels
    if size[0] * size[1] <= BOUNDS.shown_pixels and max(size) <= BOUNDS.shown_side:
        assert (width, height) == size


def test_the_worst_picture_becomes_small_enough_at_the_second_try() -> None:
    """F9, I1: noise that nothing makes smaller; a picture of one column too."""
    for size in [(1238, 928), (1568, 733), (1, 1568)]:
        worst = 3 * size[0] * size[1] + 12_000
        width, height = less_room(size, size=max(worst, BOUNDS.shown_bytes + 1))
        assert 3 * width * height + 12_000 < BOUNDS.shown_bytes
        assert (width, height) >= (1, 1)


def test_a_webp_of_several_frames_says_so() -> None:
    assert is_animated(pictures.MOVING_WEBP)
    assert not any(is_animated(data) for data in (pictures.WEBP, pictures.CLEAR_WEBP, pictures.png(), b"", b"RIFF1234WEBPVP8X"))
