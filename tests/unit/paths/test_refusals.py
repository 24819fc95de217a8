"""Each refusal for its text alone, word for word as the model and people are told it, and each length to the byte."""

from __future__ import annotations

import pytest

from runner.paths import PathRefusal, Want, check_pattern, check_text, resolve
from runner.paths.patterns import MAX_PATTERN, MAX_READINGS
from runner.paths.text import BLANKS, MAX_NAME_BYTES, MAX_PATH_BYTES
from tests.helpers.views import Broken, File, Link, Special, TreeView

EMPTY = ("empty_path", "The path is empty.")
NUL = ("nul_in_path", "The path holds a NUL byte.")
NO_TEXT = ("path_too_long", "The path is over-long or no text that can be encoded.")
TOO_LONG = ("path_too_long", "The path is longer than 4095 bytes.")
LONG_NAME = ("path_too_long", "A name in the path is longer than 255 bytes.")
BLANK = ("blank_edges", "The path starts or ends with blanks, which one reader drops and another keeps.")
HOME = ("home_path", "A path that starts with ~ leads to a home directory, outside the workspace.")
VARIABLE = ("variable_in_path", "The path holds a variable; variables are never expanded and cannot be checked.")
URL = ("url_as_path", "A URL is not a path; give a path beneath the workspace.")
WIDE = ("pattern_unchecked", "The pattern is longer, or has more alternatives, than can be checked.")
OUT = ("pattern_outside", "The pattern could match outside the workspace.")
#: The longest path there is: names of 255 bytes and less beneath /workspace.
LONGEST = "/workspace" + f"/{'n' * 200}" * 20 + "/" + "m" * (MAX_PATH_BYTES - 10 - 20 * 201 - 1)


def told(refusal: PathRefusal | None) -> tuple[str, str] | None:
    """Rule and sentence."""
    return None if refusal is None else (refusal.rule, refusal.reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", EMPTY),
        (" \t\ufeff", EMPTY),
        ("a\0", NUL),
        ("\ud800", NO_TEXT),
        ("x" * (MAX_PATH_BYTES + 1), NO_TEXT),
        ("\u00e9/" * (MAX_PATH_BYTES // 3 + 1), TOO_LONG),
        ("\u00e9/../" * 800 + "a", TOO_LONG),
        (LONGEST, None),
        (LONGEST + "m", NO_TEXT),
        (LONGEST.removeprefix("/workspace/"), None),
        (LONGEST.removeprefix("/workspace/") + "m", TOO_LONG),
        ("n" * MAX_NAME_BYTES, None),
        ("n" * (MAX_NAME_BYTES + 1), LONG_NAME),
        ("a/" + "\u00e9" * 127 + "n", None),
        ("a/" + "\u00e9" * 128 + "/b", LONG_NAME),
        (" a", BLANK),
        ("a\n", BLANK),
        ("a /", BLANK),
        ("a / ", BLANK),
        ("a/b\u00a0/..", None),
        ("~", HOME),
        ("~root/x", HOME),
        (" ~", HOME),
        ("/workspace/~", None),
        ("a/~", None),
        ("$HOME/x", VARIABLE),
        ("a/${X}", VARIABLE),
        ("a$(id)", VARIABLE),
        ("/workspace/$_x", VARIABLE),
        ("$", None),
        ("$1", None),
        ("a$/b", None),
        ("file:x", URL),
        ("FILE:x", URL),
        ("https://x", URL),
        ("c+.-9:/x", URL),
        ("/workspace/file:/x", URL),
        ("/workspace/file:/x~", URL),
        ("/workspace/~root/x", None),
        ("./https:/x", URL),
        ("a/file:x", None),
        ("9:/x", None),
        ("a:b", None),
    ],
)
def test_a_text_is_refused_by_its_rule_or_not_at_all(text: str, expected: tuple[str, str] | None) -> None:
    """R48, R50, P12; cases 4, 6, 7, 11, 16, 17."""
    assert told(check_text(text)) == expected


def test_every_blank_that_javascript_trims_counts_at_both_ends() -> None:
    """Sdk.md §3: the CLI trims what Python's `strip` would not, and the other way round."""
    assert {blank: (told(check_text(f"{blank}a")), told(check_text(f"a{blank}"))) for blank in BLANKS} == dict.fromkeys(
        BLANKS, (BLANK, BLANK)
    )
    assert [told(check_text(f"{sign}a{sign}")) for sign in "\x1c\x1d\x1e\x1f\x85\u200b"] == [None] * 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*" * MAX_PATTERN, None),
        ("*" * (MAX_PATTERN + 1), WIDE),
        ("{a,b}" * 7, None),
        ("{a,b}" * 8, WIDE),
        (r"[\!/]etc", OUT),
        (r"[\^/]etc", OUT),
        ("{-..0}x", OUT),
        ("{0..-}x", OUT),
        ("{a..b..2}", None),
        ("{a..0}:/x", URL),
        ("X../a", None),
        ("/./workspace/*", None),
        ("[^-.][^-.]/x", None),
        ("a/b]", None),
        ("[a]b/c]", None),
        ("[X/]etc", OUT),
        ("/workspace/a\u00e9*", None),
        ("", EMPTY),
        ("*\0", NUL),
        ("~/*", HOME),
        ("!~/*", HOME),
        ("$HOME*", VARIABLE),
        ("https://*", URL),
        ("../*", OUT),
        ("/etc/*", OUT),
        ("/", OUT),
        ("[]/]etc", OUT),
        ("x[a][/]etc", OUT),
        ("x[!a][/]etc", OUT),
        ("[a/", None),
        ("@(a|b)", None),
        ("@(a|X)/x", None),
        ("@(a|)/x", OUT),
        ("@(a|...)/x", OUT),
        ("[.]?", None),
        ("[.]*", None),
    ],
)
def test_a_pattern_is_refused_by_its_rule_or_not_at_all(text: str, expected: tuple[str, str] | None) -> None:
    """R50, P12; cases 37, 39."""
    assert told(check_pattern(text)) == expected


def test_as_many_readings_as_are_looked_through_and_one_more() -> None:
    """A list of n names is read as a whole and name by name: n + 1 readings."""
    names = [str(number) for number in range(MAX_READINGS)]

    assert told(check_pattern(",".join(names[:-1]))) is None
    assert told(check_pattern(",".join(names))) == WIDE


TREE = TreeView(
    {
        "a": File(),
        "d": {},
        "hard": File(links=2),
        "hard2": Link("hard"),
        "pipe": Special(),
        "loop": Link("loop"),
        "bad": Broken(),
        "out": Link("/etc"),
        "proc": Link("/proc/self/cwd"),
        "up": Link("d/.."),
        "x/y": {},
        "here": Link("x/y"),
        "nul": Link("a\0"),
        "void": Link(""),
        "long": Link("./" * 2047 + "./"),
        "just": Link("./" * 2047 + "d"),
    }
)
UNPROVEN = ("unproven", "Where the path leads could not be found out.")
SPECIAL = ("special_file", "The path names a socket, a pipe or a device.")
NO_FILE = ("not_a_file", "The path names a directory where a file is needed.")
NO_DIRECTORY = ("not_a_directory", "The path names a file where a directory is needed.")
THROUGH = ("not_a_directory", "The path goes through something that is not a directory.")
NOTHING = ("no_such_file", "There is no such file in the workspace.")
HARD = ("hard_link", "The file has more than one name (a hard link), so it may belong outside the workspace.")
OUTSIDE = ("outside", "The path leads outside the workspace.")
KERNEL = ("kernel_path", "The path leads to /proc, /dev or /sys, outside the workspace.")
LOOP = ("link_loop", "The path follows too many links.")
TWO = ("ambiguous_path", "The path leads to two different places, depending on who reads it.")


@pytest.mark.parametrize(
    ("text", "want", "expected"),
    [
        ("gone", Want.EXISTING_FILE, NOTHING),
        ("d", Want.EXISTING_FILE, NO_FILE),
        ("d", Want.NEW_OR_EXISTING_FILE, NO_FILE),
        ("a", Want.DIRECTORY, NO_DIRECTORY),
        ("a/b", Want.NEW_OR_EXISTING_FILE, THROUGH),
        ("a/..", Want.DIRECTORY, THROUGH),
        ("pipe", Want.FILE_OR_DIRECTORY, SPECIAL),
        ("pipe/x", Want.FILE_OR_DIRECTORY, THROUGH),
        ("hard", Want.EXISTING_FILE, HARD),
        ("hard2", Want.NEW_OR_EXISTING_FILE, HARD),
        ("loop", Want.FILE_OR_DIRECTORY, LOOP),
        ("bad", Want.FILE_OR_DIRECTORY, UNPROVEN),
        ("nul", Want.FILE_OR_DIRECTORY, UNPROVEN),
        ("void", Want.FILE_OR_DIRECTORY, UNPROVEN),
        ("long", Want.FILE_OR_DIRECTORY, UNPROVEN),
        ("just", Want.EXISTING_FILE, NO_FILE),
        ("..", Want.DIRECTORY, OUTSIDE),
        ("a/../..", Want.DIRECTORY, OUTSIDE),
        ("here/../../..", Want.DIRECTORY, OUTSIDE),
        ("/", Want.DIRECTORY, OUTSIDE),
        ("/etc", Want.DIRECTORY, OUTSIDE),
        ("out", Want.DIRECTORY, OUTSIDE),
        ("/proc", Want.DIRECTORY, KERNEL),
        ("/dev/null", Want.FILE_OR_DIRECTORY, KERNEL),
        ("/sys/x", Want.FILE_OR_DIRECTORY, KERNEL),
        ("proc/a", Want.FILE_OR_DIRECTORY, KERNEL),
        ("here/../a", Want.NEW_OR_EXISTING_FILE, TWO),
        ("here/..", Want.DIRECTORY, TWO),
        (" a", Want.EXISTING_FILE, BLANK),
    ],
)
def test_a_path_that_is_not_proven_says_why(text: str, want: Want, expected: tuple[str, str]) -> None:
    """R46-R50, P8, P12; cases 2, 11, 21-26, 29, 32."""
    found = resolve(text, TREE, want=want)

    assert isinstance(found, PathRefusal)
    assert told(found) == expected
