"""What a call does in words, and what its own words warn of, whatever its tool (V1, V6, V10)."""

# ruff: noqa: RUF001 - characters that are confused are the subject

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

from runner.broker.cautions import LARGE, cautions
from runner.broker.saying import Spoken, does, target_of
from runner.digest import digest_bytes
from runner.model import Digest, ResolvedPath


def call(tool: str, *, path: str | None = None, stood: str | None = None, **arguments: Any) -> Spoken:
    """A call; `stood`: what was at its path, `nothing`, `file` or `directory`."""
    inside = PurePosixPath("/workspace") / (path or "")
    images: dict[str, Digest | None] = {"nothing": None, "file": digest_bytes(b"x"), "directory": Digest("directory")}  # type: ignore[dict-item]
    paths = () if path is None else (ResolvedPath(asked=path, resolved=inside),)
    return Spoken(tool=tool, arguments=arguments, paths=paths, pre_images={} if stood is None else {str(inside): images[stood]})


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (call("Write", path="summary.md", stood="nothing", content="a\nb\n"), "Write a new file summary.md, 2 lines, 4 bytes"),
        (call("Write", path="a/b.md", stood="file", content="ä"), "Replace the whole file a/b.md, 1 line, 2 bytes"),
        (call("Write", path="a", content=""), "Write the file a, 0 lines, 0 bytes"),
        (call("Edit", path="a", old_string="x", new_string="1\n2"), "Change a in one place: 1 line out, 2 lines in"),
        (call("Edit", path="a", replace_all=True), "Change a everywhere it occurs: 0 lines out, 0 lines in"),
        (call("NotebookEdit", path="n.ipynb", edit_mode="delete"), "Delete a cell of the notebook n.ipynb"),
        (call("CreateFolder", path="out"), "Make the folder out"),
        (call("Undo", path="a", undoes="a_123"), "Take back what a_123 did to a"),
        (call("Read", path="notes.md"), "Read notes.md"),
        (call("Grep", pattern='"x'), 'Search the files for "\\"x"'),
        (call("FetchPage", url="https://example.com/a"), "Fetch a page of example.com, off this machine"),
        (call("WebSearch", query="a b"), 'Ask a search service, off this machine, for "a b"'),
        (call("RunCode", code="a\nb", language="python"), "Run a program of 2 lines in python in a container of its own"),
        (call("Bash", command="ls"), "Run a shell command of 1 line in a container of its own"),
        (call("Reply", text="a"), "Send an answer of 1 line to whoever asked"),
        (call("mcp__mail__send", to="x"), "Call send of the connector mail"),
        (call("Unheard", a=1, b=2), "Call Unheard with a, b"),
        (call("BrowserClick", target="x"), "BrowserClick: Clicks an element"),
        (call("CreateDocument"), "CreateDocument: Makes a new document; it never changes an existing one"),
    ],
)
def test_a_call_is_said_in_words(one: Spoken, words: str) -> None:
    """V1, V10."""
    assert does(one) == words


@pytest.mark.parametrize("name", ["a, 1 line, 2 bytes", "x y", "-rf", "a\nb", "\u202egpj.exe", "раура"])
def test_a_name_that_could_pass_for_our_words_is_quoted(name: str) -> None:
    """V5: whatever a file is called, the sentence around it is ours."""
    words = does(call("Write", path=name, stood="nothing", content="x"))
    assert words.startswith('Write a new file "')
    assert words.endswith('", 1 line, 1 byte')


@pytest.mark.parametrize(
    ("one", "target"),
    [
        (call("FetchPage", url="https://Example.com:8/a?b"), "example.com"),
        (call("FetchPage", url="mailto:x"), "mailto:x"),
        (call("Bash", command="  git push "), "git"),
        (call("CreateDocument", path="out/a.docx"), "a.docx"),
        (call("RunCode", code="x"), "RunCode"),
    ],
)
def test_the_target_is_what_the_call_is_aimed_at(one: Spoken, target: str) -> None:
    assert target_of(one) == target


@pytest.mark.parametrize(
    ("one", "warned"),
    [
        (call("Write", path="w\u043erk.md"), "the path mixes scripts in one word (Latin, Cyrillic: w\u043erk)"),
        (call("Write", path="\u0440\u0430\u0443"), "the path looks like workspace/pay but is written with other letters"),
        (call("Write", path="a\u2215b"), "the path looks like workspace/a/b but is written with other letters"),
        (call("Write", path="\u202egpj.exe"), "the path holds hidden characters (1 bidi)"),
        (
            call("FetchPage", url="https://ex\u0430mple.com/"),
            "the host mixes scripts in one word (Latin, Cyrillic: ex\u0430mple)",
        ),
        (call("FetchPage", url="https://xn--exmple-4nf.com/"), "the host is an encoded international name"),
        (
            call("FetchPage", url="https://bank.com@evil.com/"),
            "the address has a user name before its host: the host is what follows the @",
        ),
        (call("FetchPage", url="javascript:x"), "the address names no host"),
        (call("Bash", command="ls; rm -rf $(x) && y > z"), "the command holds shell operators: ; $( && >"),
        (call("Bash", command="l\u0455"), "the command mixes scripts in one word (Latin, Cyrillic: l\u0455)"),
        (call("Bash", command="ls", description="a\u200bb"), "description holds hidden characters (1 zero_width)"),
        (call("RunCode", code="x" * (LARGE + 1)), f"code is large: {LARGE + 1} characters"),
        (call("mcp__files__Write"), "the connector's tool is named like the built-in Write, and is not it"),
        (call("Wr\u0456te"), "the tool's name looks like Write, and is not it"),
    ],
)
def test_what_deceives_is_called_that(one: Spoken, warned: str) -> None:
    """V6, V10, A22, A24: each trigger."""
    assert any(found == warned or found == warned.replace("workspace/", "") for found in cautions(one)), cautions(one)


@pytest.mark.parametrize(
    "one",
    [
        call("Write", path="résumé – 漢字 PDF資料.md", content="; | \u200b"),
        call("Write", path="Ærø/Straße.md"),
        call("Write", path="отчёт.md"),
        call("Write", path="日本語の名前.txt"),
        call("FetchPage", url="https://example.com/a@b?x=1"),
        call("Bash", command="git status"),
        call("mcp__mail__send"),
        call("Edit", path="a", old_string="x" * LARGE, new_string="y"),
    ],
)
def test_what_is_plain_is_not_warned_of(one: Spoken) -> None:
    """V6: the quiet control of each trigger."""
    assert cautions(one) == ()
