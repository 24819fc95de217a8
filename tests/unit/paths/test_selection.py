"""What of cwd is left out of the snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.paths import Omission, Selection, omission
from runner.profiles import HIDE_DEFAULTS
from runner.sandbox.snapshot import take_snapshot

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
FILES = ["a/b", "a/x.TXT", "b/a/c.txt", "b/b", "x.txt", "X.TXT", "A/b", "c/b/a", "c/A"]


@pytest.mark.parametrize("first", PATTERNS)
def test_the_gate_says_what_the_copy_does(first: str, tmp_path: Path) -> None:
    """`explain` applies the snapshot's rules (cli.md): a real copy holds just the files that nothing omits."""
    for name in FILES:
        (tmp_path / "cwd" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cwd" / name).write_text("x")
    for number, second in enumerate(PATTERNS[::2]):
        read, hide = (["**", f"!{second.lstrip('!')}"], [first, second]) if number % 2 else ([first, second], [second])
        copy = tmp_path / str(number)
        take_snapshot(tmp_path / "cwd", copy, read=read, hide=hide, max_bytes=100, max_files=100, allow_hard_links=False)

        copied = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}

        assert copied == {name for name in FILES if omission(tuple(name.split("/")), read=read, hide=hide) is None}


def test_case_never_lets_a_name_back_in() -> None:
    """Cases 14, 41, 110: an exclusion in either list holds for every spelling."""
    selection = Selection(read=["**", "!*.key", "!Vault/"], hide=["Secret/", "*.PEM"])

    assert not any(selection.reads((name,)) for name in ("x.key", "X.KEY", "x.Key"))
    assert [selection.reads((name,), directory=True) for name in ("Vault", "VAULT", "other")] == [False, False, True]
    assert all(selection.hides((name,), directory=True) for name in ("Secret", "SECRET", "secret"))
    assert not selection.hides(("Secret",), directory=False)
    assert all(selection.hides((name,), directory=False) for name in ("x.PEM", "x.pem"))


def test_a_name_is_asked_for_as_what_it_is_and_as_it_is_spelled() -> None:
    """Doubt leaves a file out: exact and folded reading must both select it, and either may hide it."""
    assert Selection(read=[], hide=["*.TXT", "!x.txt"]).hides(("X.TXT",), directory=False)
    assert not Selection(read=[], hide=["a/*"]).hides(("a",), directory=True)
    assert Selection(read=[], hide=["a/*"]).hides(("a", "b"), directory=True)
    assert not Selection(read=["ABC"], hide=[]).reads(("abc",))
    assert not Selection(read=["a/*"], hide=[]).reads(("a",), directory=True)
    only = Selection(read=["x/"], hide=[])
    assert [only.reads(("x",)), only.reads(("x",), directory=True), only.reads(("x", "y"))] == [False, True, True]


@pytest.mark.parametrize(("read", "hide"), [(["!"], []), (["**"], ["!"]), (["**"], [3])])
def test_a_list_that_means_nothing_is_named(read: list[str], hide: list[str]) -> None:
    """Half a list would show what the rest of it hides."""
    with pytest.raises(ValueError, match="`: ") as caught:
        Selection(read=read, hide=hide)

    assert str(caught.value) == f"`{'hide' if hide else 'read'}`: {caught.value.__cause__}"
