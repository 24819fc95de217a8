"""What of cwd is left out of the snapshot."""

from __future__ import annotations

import pytest

from runner.paths import Omission, omission
from runner.profiles import HIDE_DEFAULTS
from runner.sandbox.selection import Selection

HIDDEN = [
    ".env",
    ".env.local",
    "a/.env",
    "key.pem",
    "a/b/key.pem",
    "id_rsa",
    "a/id_ed25519",
    ".git/config",
    ".netrc",
    "KEY.PEM",
    ".ENV",
]
SHOWN = ["in.txt", "env", "a.env", ".git/HEAD", "pem", "grid_1"]


def test_the_default_set_hides_secrets_by_name_in_any_case() -> None:
    """Cli.md `hide`; cases 14, 41."""
    assert {name: omission(tuple(name.split("/")), read=["**"], hide=HIDE_DEFAULTS) for name in HIDDEN + SHOWN} == {
        **dict.fromkeys(HIDDEN, Omission.HIDDEN),
        **dict.fromkeys(SHOWN, None),
    }


def test_nothing_beneath_a_hidden_directory_comes_back() -> None:
    hide = ["secret/", "!secret/open.txt"]

    assert omission(("secret", "open.txt"), read=["**"], hide=hide) is Omission.HIDDEN
    assert omission(("secret",), read=["**"], hide=hide, directory=True) is Omission.HIDDEN
    assert omission(("secret",), read=["**"], hide=hide) is None


def test_what_read_does_not_select_is_left_out_but_directories_are_not() -> None:
    read = ["docs/**", "!docs/raw/"]

    assert omission(("docs", "a.txt"), read=read, hide=[]) is None
    assert omission(("docs", "raw", "a.txt"), read=read, hide=[]) is Omission.NOT_SELECTED
    assert omission(("src", "a.txt"), read=read, hide=[]) is Omission.NOT_SELECTED
    assert omission(("src",), read=read, hide=[], directory=True) is None


def test_the_root_is_never_left_out() -> None:
    assert omission((), read=[], hide=["**"]) is None


def test_a_pattern_that_is_none_raises() -> None:
    with pytest.raises(ValueError, match="!"):
        omission(("a",), read=["**"], hide=["!"])


PATTERNS = ["**", "*", "a", "a/", "/a", "a/**", "**/a", "!a", "!a/", "*.txt", "!*.TXT", "a/b", "!a/b", "A*", "**/b/"]
NAMES = ["a", "b", "a/b", "a/b/c", "b/a", "b/a/c.txt", "x.txt", "X.TXT", "a/x.TXT", "A/b", "c/b/a"]


@pytest.mark.parametrize("first", PATTERNS)
@pytest.mark.parametrize("second", PATTERNS)
def test_the_gate_says_what_the_copy_does(first: str, second: str) -> None:
    """`explain` applies the snapshot's rules (cli.md): both readings of `read` and `hide` agree on every file."""
    for read, hide in [(["**"], [first, second]), ([first, second], [])]:
        copy = Selection(read=read, hide=hide)
        for name in NAMES:
            parts = tuple(name.split("/"))
            above = any(copy.hides(parts[:depth], directory=True) for depth in range(1, len(parts)))
            copied = not above and not copy.hides(parts, directory=False) and copy.reads(parts)
            assert (omission(parts, read=read, hide=hide) is None) == copied, (read, hide, name)
