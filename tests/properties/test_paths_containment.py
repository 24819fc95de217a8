"""Containment against an oracle: the whole file system as a tree, read by a second, naive resolver.

The oracle is what a process in the container would reach: /workspace is one directory among others, and links lead anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from runner.model import ResolvedPath
from runner.paths import PathRefusal, Want, check_pattern, normalise, resolve
from tests.helpers.views import File, Link, Special, TreeView

NAMES = ["a", "b", "c", "d"]
TARGETS = [
    "a",
    "b",
    "../a",
    "..",
    "../..",
    "a/b",
    "./b/../c",
    "/workspace/a",
    "/workspace",
    "/workspace/../etc",
    "/etc",
    "/proc/self/cwd",
    "../workspace/a",
    "/",
]
SEGMENTS = [*NAMES, "..", ".", "", "~", "workspace", "etc", "secret.txt", "$a", "a:", " ", "a ", "%2e%2e", "\uff0e\uff0e"]

entries = st.one_of(
    st.builds(File, links=st.sampled_from([1, 1, 1, 2])),
    st.builds(Link, st.sampled_from(TARGETS)),
    st.just(Special()),
    st.just({}),
)
paths_in_tree = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
trees = st.dictionaries(paths_in_tree, entries, max_size=8)
arguments = st.builds(
    lambda start, segments: start + "/".join(segments),
    st.sampled_from(["", "", "/", "./", "/workspace/", "../", "~/", "//"]),
    st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=6),
)


@dataclass(frozen=True)
class Whole:
    """The container's root: a workspace that is the tree, and things outside."""

    tree: dict[str, object]

    def entry(self, path: str) -> object:
        """What stands at an absolute path without links."""
        outside: dict[str, object] = {
            "/": {},
            "/etc": {},
            "/etc/a": File(),
            "/workspace": {},
            "/a": File(),
            "/home/agent": {},
            "/home": {},
        }
        if path in outside:
            return outside[path]
        if not path.startswith("/workspace/"):
            return None
        inner = path.removeprefix("/workspace/")
        if inner in self.tree:
            return self.tree[inner]
        return {} if any(name.startswith(inner + "/") for name in self.tree) else None

    def reach(self, path: str, fuel: int = 60) -> tuple[str, object] | None:
        """Where an absolute path really leads and what is there; None when a process could not open it.

        Written recursively over text, not over parts with a queue as `resolve` is.
        """
        here = ""
        names = [name for name in path.split("/") if name not in ("", ".")]
        for position, name in enumerate(names):
            if name == "..":
                here = here.rpartition("/")[0]
                continue
            found = self.entry(f"{here}/{name}")
            if isinstance(found, Link):
                rest = "/".join(names[position + 1 :])
                start = found.target if found.target.startswith("/") else f"{here}/{found.target}"
                return self.reach(f"{start}/{rest}", fuel - 1) if fuel else None
            if found is None or (found != {} and position + 1 < len(names)):
                return None
            here = f"{here}/{name}"
        return (here or "/", self.entry(here or "/"))


def tidy(tree: dict[str, object]) -> dict[str, object]:
    """The tree without entries beneath something that is no directory."""
    return {
        path: entry
        for path, entry in tree.items()
        if all(tree.get(path.rsplit("/", depth)[0], {}) == {} for depth in range(1, path.count("/") + 1))
    }


@settings(max_examples=600, deadline=None)
@example(tree={"a": Link("..")}, text="a/secret.txt")
@example(tree={"a": Link("b"), "b": Link("/etc")}, text="a/a")
@given(tree=trees, text=arguments)
def test_nothing_that_leads_outside_ever_resolves(tree: dict[str, object], text: str) -> None:
    """R46-R49; cases A and B: whatever resolves is where a process would arrive, and that is inside."""
    tree = tidy(tree)
    found = resolve(text, TreeView(tree), want=Want.FILE_OR_DIRECTORY)

    if isinstance(found, ResolvedPath):
        assert found.resolved.is_relative_to("/workspace")
        for spelling in (normalise(text), text if text.startswith("/") else f"/workspace/{text}"):
            reached = Whole(tree).reach(spelling)
            assert reached is None or reached[0] == str(found.resolved)


@settings(max_examples=600, deadline=None)
@given(tree=trees, text=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join))
def test_nothing_that_plainly_leads_inside_is_refused(tree: dict[str, object], text: str) -> None:
    """Over-denial control (cases 33-35): a file or directory a process reaches without ever leaving the workspace."""
    tree = tidy(tree)
    reached = Whole(tree).reach(f"/workspace/{text}")
    if reached is None or not (isinstance(reached[1], File) or reached[1] == {}) or leaves(tree):
        return
    if isinstance(reached[1], File) and reached[1].links > 1:
        return

    found = resolve(text, TreeView(tree), want=Want.FILE_OR_DIRECTORY)

    assert isinstance(found, ResolvedPath)
    assert str(found.resolved) == reached[0]


def leaves(tree: dict[str, object]) -> bool:
    """Whether some link of the tree could leave the workspace on its way."""
    return any(isinstance(entry, Link) and (".." in entry.target or not _inside(entry.target)) for entry in tree.values())


def _inside(target: str) -> bool:
    return not target.startswith("/") or target.startswith("/workspace")


@settings(max_examples=600, deadline=None)
@given(text=st.text(alphabet=st.sampled_from("./~ ab\t\u00a0\ufeff$:"), max_size=12) | arguments)
def test_collapsing_twice_is_collapsing_once(text: str) -> None:
    once = normalise(text)

    assert normalise(once) == once
    assert once.startswith("/")
    assert not {"..", ".", ""} & set(once.split("/")[1:]) or once == "/"


@settings(max_examples=600, deadline=None)
@given(text=st.text(alphabet=st.sampled_from("./~ab*?[]!^{},\\ @(|)-$"), max_size=14))
def test_any_pattern_is_judged_and_a_plain_way_out_never_passes(text: str) -> None:
    """R50; cases 37, 39."""
    found = check_pattern(text)

    assert found is None or isinstance(found, PathRefusal)
    if found is None:
        assert ".." not in text.split("/")
        assert not text.startswith(("/", "~"))
