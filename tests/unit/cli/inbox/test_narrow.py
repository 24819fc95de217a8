"""What the inbox says of its keys on screens of every size: no word is cut, nothing of the help is left out (V4, A40)."""

from __future__ import annotations

import pytest

from runner.cli.inbox.keys import ACTING, NOTES
from tests.helpers.inbox import Driven, a_call


@pytest.mark.parametrize(
    ("width", "more"), [(80, "space shows more; a yes waits for the end"), (60, "space shows more"), (40, "space")]
)
def test_no_word_of_ours_is_cut_at_a_narrow_screen(width: int, more: str) -> None:
    """Issue 6: at 60 columns too, the screen says how to go on."""
    inbox = Driven(a_call(input={"content": "x\n" * 99}), size=(width, 24))
    rule, last = next(line for line in inbox.screen if line.startswith("-- a_")), inbox.screen[-1]
    assert rule.rstrip().endswith(more)
    assert last.startswith("a approve  d deny  e edit")
    assert "? help" in last
    assert not {rule[-1], last[-1]} & {">"}


@pytest.mark.parametrize("size", [(40, 12), (60, 24), (80, 24), (200, 60)])
def test_all_of_the_help_can_be_read_on_any_screen(size: tuple[int, int]) -> None:
    """V4: nothing of it is left out; space goes on where there is more, any key goes back after the last part."""
    inbox = Driven(a_call(), size=size)
    inbox.press("question_mark")
    seen = inbox.screen[:-1]
    while "space" in inbox.screen[-1]:
        inbox.press("space")
        seen += inbox.screen[:-1]
    told = " ".join(" ".join(line.removeprefix("┊ ") for line in seen).split())
    assert [words for words in (*(does for _, does in ACTING), *NOTES) if words not in told] == []
    inbox.press("space")
    assert inbox.screen[0].startswith("runner inbox  1 to decide")
