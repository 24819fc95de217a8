"""The CLI's textual collapse."""

from __future__ import annotations

import pytest

from runner.paths import normalise


@pytest.mark.parametrize(
    ("text", "collapsed"),
    [
        ("in.txt", "/workspace/in.txt"),
        ("/workspace/in.txt", "/workspace/in.txt"),
        ("./a/./b//c/", "/workspace/a/b/c"),
        ("a/../b", "/workspace/b"),
        ("../x", "/x"),
        ("../../../x", "/x"),
        ("/..", "/"),
        ("", "/workspace"),
        (".", "/workspace"),
        ("  in.txt\n", "/workspace/in.txt"),
        ("\ufeff\u3000in.txt\u2028", "/workspace/in.txt"),
        ("\x1cin.txt", "/workspace/\x1cin.txt"),
        ("~", "/home/agent"),
        ("~/x", "/home/agent/x"),
        ("~user/x", "/workspace/~user/x"),
        ("$HOME/x", "/workspace/$HOME/x"),
        ("file:///etc/passwd", "/workspace/file:/etc/passwd"),
        ("%2e%2e/x", "/workspace/%2e%2e/x"),
        ("in.txt /.", "/workspace/in.txt"),
        ("e\u0301", "/workspace/e\u0301"),
    ],
)
def test_the_text_collapses_as_the_hook_shows_it(text: str, collapsed: str) -> None:
    """Sdk.md §3; cases 2, 4, 7, 9, 13, 16."""
    assert normalise(text) == collapsed
    assert normalise(collapsed) == collapsed
