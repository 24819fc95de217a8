"""Where a path leads, one tree, one row per kind of path."""

from __future__ import annotations

import errno
from pathlib import PurePosixPath

import pytest

from runner.model import ResolvedPath
from runner.paths import PathRefusal, Want, resolve
from runner.paths.resolve import LINK_BUDGET
from tests.helpers.views import Broken, File, Link, Special, TreeView

TREE = {
    "in.txt": File(),
    "~": File(),
    "sub/a.txt": File(),
    "sub/deep/b.txt": File(),
    "ok": Link("sub"),
    "ok_file": Link("sub/a.txt"),
    "abs": Link("/workspace/sub/a.txt"),
    "abs_root": Link("/workspace"),
    "chain": Link("ok"),
    "dangling": Link("sub/nothing"),
    "out": Link("../secret.txt"),
    "out_dir": Link(".."),
    "out_abs": Link("/etc/hostname"),
    "host": Link("/srv/agents/scribe/in.txt"),
    "proc": Link("/proc/self/root"),
    "proc_back": Link("/proc/self/cwd"),
    "leaves_and_returns": Link("../workspace/in.txt"),
    "loop": Link("loop"),
    "ping": Link("pong"),
    "pong": Link("ping"),
    "zero": Link("/dev/zero"),
    "pipe": Special(),
    "hard": File(links=2),
    "locked": Broken(errno.EACCES),
    "sub/up": Link("../in.txt"),
    "empty_dir": {},
}


def look(text: str, want: Want = Want.NEW_OR_EXISTING_FILE) -> str:
    """Where it leads, or the rule that refuses it."""
    found = resolve(text, TreeView(TREE), want=want)
    return found.rule if isinstance(found, PathRefusal) else str(found.resolved)


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("in.txt", "/workspace/in.txt"),
        ("./in.txt", "/workspace/in.txt"),
        ("/workspace/in.txt", "/workspace/in.txt"),
        ("//workspace//in.txt", "/workspace/in.txt"),
        ("/./workspace/./in.txt", "/workspace/in.txt"),
        ("in.txt/", "/workspace/in.txt"),
        ("sub/../in.txt", "/workspace/in.txt"),
        ("absent/../in.txt", "/workspace/in.txt"),
        ("ok/a.txt", "/workspace/sub/a.txt"),
        ("chain/deep/b.txt", "/workspace/sub/deep/b.txt"),
        ("ok_file", "/workspace/sub/a.txt"),
        ("abs", "/workspace/sub/a.txt"),
        ("abs_root/in.txt", "/workspace/in.txt"),
        ("sub/up", "/workspace/in.txt"),
        ("dangling", "/workspace/sub/nothing"),
        ("absent", "/workspace/absent"),
        ("absent/x/..", "/workspace/absent"),
        ("x" * 255, "/workspace/" + "x" * 255),
        ("a/" * 2041 + "bc", "/workspace/" + "a/" * 2041 + "bc"),
        ("absent/deep/new.txt", "/workspace/absent/deep/new.txt"),
        ("/workspace/~", "/workspace/~"),
        ("./~", "/workspace/~"),
        ("sub/~/x", "/workspace/sub/~/x"),
        ("%2e%2e/secret.txt", "/workspace/%2e%2e/secret.txt"),
        ("\uff0e\uff0e/secret.txt", "/workspace/\uff0e\uff0e/secret.txt"),
        ("..\u2215secret.txt", "/workspace/..\u2215secret.txt"),
        ("e\u0301", "/workspace/e\u0301"),
        ("...", "/workspace/..."),
        ("price $5.txt", "/workspace/price $5.txt"),
        ("10:30.txt", "/workspace/10:30.txt"),
    ],
)
def test_what_is_plainly_inside_resolves(text: str, leads: str) -> None:
    """R46; cases 6, 9, 13, 16, 33, 34, 35."""
    assert look(text) == leads


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("..", "outside"),
        ("../secret.txt", "outside"),
        ("/workspace/../secret.txt", "outside"),
        ("sub/../../secret.txt", "outside"),
        ("a/../../w2.txt", "outside"),
        ("../workspace/in.txt", "outside"),
        ("/etc/../workspace/in.txt", "outside"),
        ("/", "outside"),
        ("/etc/passwd", "outside"),
        ("/workspace-evil/s.txt", "outside"),
        ("/Workspace/in.txt", "outside"),
        ("/workspac/e", "outside"),
        ("/proc/self/root/etc/passwd", "kernel_path"),
        ("/proc/self/cwd/in.txt", "kernel_path"),
        ("/proc/1/environ", "kernel_path"),
        ("/proc/self/fd/0", "kernel_path"),
        ("/dev/zero", "kernel_path"),
        ("/sys/kernel", "kernel_path"),
        ("out", "outside"),
        ("out_dir/secret.txt", "outside"),
        ("out_dir/w.txt", "outside"),
        ("out_abs", "outside"),
        ("host", "outside"),
        ("leaves_and_returns", "outside"),
        ("proc/etc/passwd", "kernel_path"),
        ("proc_back/in.txt", "kernel_path"),
        ("zero", "kernel_path"),
        ("loop", "link_loop"),
        ("loop/x", "link_loop"),
        ("ping", "link_loop"),
        ("pipe", "special_file"),
        ("pipe/x", "not_a_directory"),
        ("hard", "hard_link"),
        ("locked", "unproven"),
        ("in.txt/x", "not_a_directory"),
        ("in.txt/../ok_file", "not_a_directory"),
        ("ok/../in.txt/", "/workspace/in.txt"),
        ("chain/deep/../a.txt", "/workspace/sub/a.txt"),
        ("", "empty_path"),
        ("   ", "empty_path"),
        (".", "not_a_file"),
        ("/workspace", "not_a_file"),
        ("sub", "not_a_file"),
        ("~", "home_path"),
        ("~/x", "home_path"),
        ("~root", "home_path"),
        ("~root/.ssh/id_rsa", "home_path"),
        ("$HOME/.ssh/id_rsa", "variable_in_path"),
        ("${HOME}", "variable_in_path"),
        ("sub/$(id)", "variable_in_path"),
        ("file:///etc/passwd", "url_as_path"),
        ("file:/etc/passwd", "url_as_path"),
        ("FILE:etc", "url_as_path"),
        ("https://example.org/x", "url_as_path"),
        ("C:/Windows", "url_as_path"),
        ("/workspace/file:/etc/passwd", "url_as_path"),
        ("in.txt\0.png", "nul_in_path"),
        ("in.txt ", "blank_edges"),
        (" in.txt", "blank_edges"),
        ("in.txt\n", "blank_edges"),
        ("\ufeffin.txt", "blank_edges"),
        ("in.txt\u00a0", "blank_edges"),
        ("in.txt /.", "blank_edges"),
        (" ~/x", "home_path"),
        ("x" * 256, "path_too_long"),
        ("é" * 128, "path_too_long"),
        ("y" * 256 + "/../in.txt", "path_too_long"),
        ("a/" * 2500, "path_too_long"),
        ("a/" * 2041 + "bcd", "path_too_long"),
        ("é/" * 1400, "path_too_long"),
        ("\ud800", "path_too_long"),
    ],
)
def test_what_cannot_be_proven_is_refused(text: str, rule: str) -> None:
    """R47-R50, P8; cases 1, 2, 4, 7, 11, 16, 17, 21-23, 25, 26, 29, 32, 35."""
    assert look(text) == rule


def test_a_link_before_a_parent_is_refused_where_readers_differ() -> None:
    """Sdk.md §8: the CLI collapses text before it follows links, the kernel after."""
    view = TreeView({"sub/deep/b.txt": File(), "link": Link("sub/deep"), "a.txt": File(), "sub/a.txt": File()})

    found = resolve("link/../a.txt", view, want=Want.NEW_OR_EXISTING_FILE)

    assert isinstance(found, PathRefusal)
    assert found.rule == "ambiguous_path"


@pytest.mark.parametrize(
    ("want", "fits"),
    [
        (Want.EXISTING_FILE, {"in.txt": True, "sub": False, "absent": False}),
        (Want.NEW_OR_EXISTING_FILE, {"in.txt": True, "sub": False, "absent": True}),
        (Want.DIRECTORY, {"in.txt": False, "sub": True, "absent": True}),
        (Want.FILE_OR_DIRECTORY, {"in.txt": True, "sub": True, "absent": True}),
    ],
)
def test_what_stands_there_must_be_what_is_wanted(want: Want, fits: dict[str, bool]) -> None:
    assert {text: look(text, want).startswith("/") for text in fits} == fits


def test_a_special_file_is_never_wanted() -> None:
    assert {look("pipe", want) for want in Want} == {"special_file"}


def test_hard_links_resolve_where_the_profile_allows_them() -> None:
    """Case 29."""
    found = resolve("hard", TreeView(TREE), want=Want.EXISTING_FILE, allow_hard_links=True)

    assert found == ResolvedPath(asked="hard", resolved=PurePosixPath("/workspace/hard"))


def test_as_many_links_as_the_kernel_follows_are_followed_and_no_more() -> None:
    assert LINK_BUDGET == 40
    links: dict[str, object] = {f"l{number}": Link(f"l{number + 1}") for number in range(LINK_BUDGET + 1)}
    links[f"l{LINK_BUDGET + 1}"] = File()
    view = TreeView(links)

    assert isinstance(resolve("l1", view, want=Want.EXISTING_FILE), ResolvedPath)
    refused = resolve("l0", view, want=Want.EXISTING_FILE)
    assert isinstance(refused, PathRefusal)
    assert refused.rule == "link_loop"


@pytest.mark.parametrize("target", ["", "x\0y", "./" * 2100 + "x", "/workspace/" + "z" * 300, "z" * 300])
def test_a_links_text_is_checked_like_any_other(target: str) -> None:
    found = resolve("link", TreeView({"link": Link(target)}), want=Want.FILE_OR_DIRECTORY)

    assert isinstance(found, PathRefusal)
    assert found.rule == "unproven"


def test_the_path_max_trick_leads_nowhere() -> None:
    """Case 28: sixteen long directories, a letter beside each, and a link of `../` at the bottom."""
    tree: dict[str, object] = {}
    above = ""
    for letter in "abcdefghijklmnop":
        long = letter * 247
        tree[f"{above}{letter}"] = Link(long)
        above = f"{above}{long}/"
    tree[above + "l" * 254] = Link("../" * 17)
    path = "/".join("abcdefghijklmnop") + "/" + "l" * 254 + "/secret.txt"

    found = resolve(path, TreeView(tree), want=Want.NEW_OR_EXISTING_FILE)

    assert isinstance(found, PathRefusal)
    assert found.rule == "outside"


def test_a_path_longer_than_the_system_takes_once_links_are_followed_is_refused() -> None:
    tree: dict[str, object] = {}
    above = ""
    for letter in "abcdefghijklmnopq":
        tree[f"{above}{letter}"] = Link(letter * 247)
        above = f"{above}{letter * 247}/"
    path = "/".join("abcdefghijklmnopq") + "/new"

    assert isinstance(resolve(path, TreeView(tree), want=Want.NEW_OR_EXISTING_FILE), PathRefusal)


@pytest.mark.parametrize("method", ["kind", "link_target", "hard_links"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "x"), PermissionError(), ValueError("embedded null byte")])
def test_trouble_of_the_view_refuses(method: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """P10, case 28."""

    def fail(self: TreeView, parts: tuple[str, ...]) -> None:
        raise error

    monkeypatch.setattr(TreeView, method, fail)
    text = "ok_file" if method == "link_target" else "in.txt"

    found = resolve(text, TreeView(TREE), want=Want.NEW_OR_EXISTING_FILE)

    assert isinstance(found, PathRefusal)
    assert found.rule == "unproven"


def test_an_over_long_path_is_refused_before_anything_is_looked_up() -> None:
    """Case 17."""
    view = TreeView(TREE)

    assert isinstance(resolve("a/" * 2500, view, want=Want.NEW_OR_EXISTING_FILE), PathRefusal)
    assert view.calls == []


def test_a_refusal_never_repeats_the_path() -> None:
    texts = ["~/marker", "$marker/x", "marker:/x", "../marker", "/proc/marker", "marker\0", " marker"]

    for text in texts:
        found = resolve(text, TreeView(TREE), want=Want.NEW_OR_EXISTING_FILE)
        assert isinstance(found, PathRefusal)
        assert "marker" not in found.reason
        assert found.reason.endswith(".")
