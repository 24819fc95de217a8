"""A text as it is, for a file or a pipe; on a terminal its display form, since a terminal would act on it (V2, V3)."""

from __future__ import annotations

from runner.render.screen import Screen
from runner.render.text import show_lines


def show_exact(screen: Screen, text: str) -> None:
    """`text` and a line end: byte for byte into a file, injectively shown on a terminal."""
    if screen.terminal:
        screen.lines(show_lines(text))
    else:
        screen.part([text])
