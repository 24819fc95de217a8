"""docs/reviewing.md shows what the screens show today."""

from __future__ import annotations

import asyncio
import html
import re

import pytest

from scripts.make_pictures import PAGE, PICTURES, SCENES, page, picture


def words(drawn: str) -> list[str]:
    """The texts of a picture, in order."""
    return [html.unescape(found) for found in re.findall(r">([^<>]+)</text>", drawn)]


def test_the_card_in_the_page_is_what_a_terminal_shows() -> None:
    assert page() == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCENES)
def test_each_picture_shows_what_the_inbox_draws(name: str) -> None:
    stored = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert words(stored) == words(asyncio.run(picture(SCENES[name])))
    assert len(stored) < 40_000
    assert "http" not in re.sub(r'xmlns="[^"]+"', "", stored).replace("https://www.textualize.io", "")
