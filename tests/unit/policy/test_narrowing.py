"""Protected names, tool patterns, path-like texts, and the matrix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.model import Policy, ToolScope, Verdict
from runner.policy import TOOLS, Connector, PolicyContext, SavedVerdict, definition_digest, explain_matrix
from runner.policy.loose_paths import loose_paths
from runner.policy.protected import protected_name
from runner.policy.scopes import NARROWABLE, out_of_scope
from tests.helpers.builders import a_profile
from tests.helpers.views import TreeView

POST = "mcp__github__post"
_TOOL = replace(TOOLS["CreateFolder"], name=POST)
MAKER = Connector(tool=_TOOL, pinned=definition_digest(_TOOL), offered=definition_digest(_TOOL))


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "sub/.git",
        ".git./config",
        ".git /config",
        ".g\u200cit/config",
        "\uff0egit/config",
        ".claude/settings.json",
        ".Mcp.json",
        "CLAUDE.md",
        "claude.MD",
        "docs/CLAUDE.local.md",
        "AGENTS.md",
        ".vscode/settings.json",
        ".idea/x",
        ".github/workflows/ci.yml",
        ".envrc",
        ".bashrc",
        ".\u212aube/config",
    ],
)
def test_names_that_give_power_later_are_protected_in_any_spelling(path: str) -> None:
    """Cases 14, 46, 47."""
    assert protected_name(path.split("/")) is not None


@pytest.mark.parametrize(
    "path", ["git/config", "notes.md", "my.git", ".gitignore", "claude", "CLAUDE.txt", "vscode", ".github.md"]
)
def test_ordinary_names_are_not(path: str) -> None:
    assert protected_name(path.split("/")) is None


def test_only_the_name_the_profile_names_is_given_free() -> None:
    assert protected_name([".github", "x"], unprotect=[".GitHub"]) is None
    assert protected_name([".github", ".git", "x"], unprotect=[".github"]) == ".git"


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        (ToolScope(tool="Write", only=("out/**",)), ["out/a", "out/b/c"], ["a", "outer/a", "x/out/a"]),
        (ToolScope(tool="Write", only=("*.md", "out/**")), ["a.md", "x/b.md", "out/z"], ["a.txt"]),
        (ToolScope(tool="Write", never=("**/migrations/**",)), ["a", "migrations"], ["migrations/a", "x/migrations/y/z"]),
        (ToolScope(tool="Write", only=("out/**",), never=("out/raw/**",)), ["out/a"], ["out/raw/a", "b"]),
        (ToolScope(tool="Write"), ["a", "b/c"], []),
    ],
)
def test_a_pattern_leaves_what_it_says(scope: ToolScope, inside: list[str], outside: list[str]) -> None:
    assert [out_of_scope("Write", tuple(path.split("/")), [scope]) for path in inside] == [None] * len(inside)
    assert None not in [out_of_scope("Write", tuple(path.split("/")), [scope]) for path in outside]
    assert out_of_scope("Edit", ("b",), [scope]) is None


def test_several_entries_must_all_let_a_path_through() -> None:
    scopes = [ToolScope(tool="Write", only=("out/**",)), ToolScope(tool="Write", never=("**/*.sh",))]

    assert out_of_scope("Write", ("out", "a.md"), scopes) is None
    assert out_of_scope("Write", ("out", "a.sh"), scopes) is not None
    assert out_of_scope("Write", ("a.md",), scopes) is not None


def test_a_search_cannot_be_narrowed_so_a_pattern_on_one_refuses_it() -> None:
    """Case 41: a search reaches everything beneath its start."""
    assert not {"Glob", "Grep", "ListFiles"} & NARROWABLE
    for scope in (ToolScope(tool="Grep", only=("docs/**",)), ToolScope(tool="Grep", never=("x",)), ToolScope(tool="Grep")):
        assert out_of_scope("Grep", ("docs",), [scope]) is not None


def test_texts_that_look_like_paths_are_found_however_deep() -> None:
    arguments = {
        "path": "a",
        "files": ["b", {"name": "c", "sourceFile": "d"}],
        "x": [[["/e"]], "../f", "~g", "./h", "..", "file:i", "C:\\j", "\\\\k"],
        "text": "see /etc/passwd",
        "url": "https://x/../y",
        "n": 1,
        "profile": "no",
        "m/../n": "key",
        "z": "l/../m",
        "w": [" /n", "~o\n", "p q/../r"],
    }

    assert list(loose_paths(arguments)) == [
        "a",
        "b",
        "d",
        "/e",
        "../f",
        "~g",
        "./h",
        "..",
        "file:i",
        "C:\\j",
        "\\\\k",
        "l/../m",
        " /n",
        "~o\n",
    ]


def test_the_matrix_shows_every_tool_in_every_kind_of_run() -> None:
    """Issue 4 item 4."""
    profile = a_profile(tools=("Read", "Write", "FetchPage", "mcp__github__post"), policy=Policy.READ_ONLY, strict=False)

    cells = explain_matrix(profile, PolicyContext(view=TreeView({})))

    assert {cell.tool: [] for cell in cells}.keys() == set(profile.tools)
    table = {(cell.tool, cell.column.value): (cell.verdict, cell.word) for cell in cells}
    assert len(table) == len(cells) == 16
    assert [table["Write", column] for column in ("owner", "contact", "unattended", "tainted")] == [
        (Verdict.ASK, "default"),
        (Verdict.ASK, "default"),
        (Verdict.DENY, "unattended"),
        (Verdict.ASK, "default"),
    ]
    assert {table["Read", column] for column in ("owner", "contact", "unattended", "tainted")} == {(Verdict.ALLOW, "default")}
    assert table["FetchPage", "owner"] == (Verdict.DENY, "unavailable")
    assert table["mcp__github__post", "contact"] == (Verdict.ASK, "default")


@pytest.mark.parametrize(
    ("tool", "profile", "context", "words"),
    [
        ("Read", {}, {"saved": {"Read": SavedVerdict.BLOCK}}, ["blocked"] * 4),
        ("Write", {"strict": False}, {"saved": {"Write": SavedVerdict.ALLOW}}, ["saved", "default", "saved", "saved"]),
        ("Read", {}, {"saved": {"Read": SavedVerdict.ASK}}, ["saved", "saved", "unattended", "saved"]),
        ("Read", {}, {"saved": {"Read": "junk"}}, ["refused"] * 4),
        ("Read", {"policy": Policy.SKIP}, {"max_policy": Policy.ASK}, ["ceiling", "ceiling", "unattended", "ceiling"]),
        (POST, {"strict": False}, {"saved": {POST: SavedVerdict.ALLOW}}, ["saved", "default", "saved", "escalation"]),
        (POST, {"policy": Policy.SKIP}, {"connectors": {POST: MAKER}}, ["strict", "strict", "unattended", "strict"]),
    ],
)
def test_each_cell_of_the_matrix_says_why_in_one_word(
    tool: str, profile: dict[str, object], context: dict[str, object], words: list[str]
) -> None:
    """Issue 4 item 4: owner, contact, unattended, tainted."""
    cells = explain_matrix(a_profile(tools=(tool,), **profile), PolicyContext(view=TreeView({}), **context))  # type: ignore[arg-type]

    assert [cell.word for cell in cells] == words
