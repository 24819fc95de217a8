"""What a change would look like, for a person: a unified diff of the real file and the warnings that go with it (V8). Pure.

The text has real line ends and is not escaped for a terminal; whoever shows it does that.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import PurePosixPath

from runner.broker.targets import Target, shown
from runner.broker.text import all_crlf, is_text
from runner.broker.values import Content, Folder, Result
from runner.digest import digest_bytes
from runner.fence import hidden_counts
from runner.fence.classes import is_hidden
from runner.model import WORKSPACE

_BOM = b"\xef\xbb\xbf"
_CONTEXT = 3
#: Above this many lines on both sides the quadratic matcher is left out and one hunk shows all that differs.
_MATCHED_LINES = 4000
_LONG_LINE = 2000
#: Files that other programs later run or obey (case 46); a name matches at any depth, whatever its case.
_POWERFUL_NAMES = frozenset(
    {".bash_profile", ".bashrc", ".envrc", ".gitattributes", ".gitconfig", ".gitmodules", ".mcp.json", ".npmrc", ".profile"}
    | {".zshrc", "agents.md", "claude.local.md", "claude.md", "conftest.py", "makefile", "package.json", "pyproject.toml"}
    | {"setup.py", "sitecustomize.py"},
)
_POWERFUL_FOLDERS = frozenset({".claude", ".git", ".github", ".husky", ".idea", ".ssh", ".vscode"})


def preview(path: PurePosixPath, target: Target, result: Result) -> str:
    """What would change: of a file a unified diff, of directories their names."""
    old, new = target.data, result.data
    if not isinstance(old, Folder) and not isinstance(new, Folder):
        return diff(path, old, new)
    if new is None:
        return f"-directory {shown(path)}\n"
    made = [WORKSPACE.joinpath(*target.parts[:count]) for count in range(target.standing + 1, len(target.parts) + 1)]
    return "".join(f"+directory {shown(one)}\n" for one in made)


def diff(path: PurePosixPath, old: bytes | None, new: bytes | None) -> str:
    """A unified diff from the file as it is to the file as it would be.

    Args:
        path: The target as the container names it.
        old: Its bytes, None when it does not exist.
        new: The bytes it would get, None when it is to go.
    """
    name = shown(path)
    head = [f"--- {'/dev/null' if old is None else name}", f"+++ {'/dev/null' if new is None else name}"]
    if not is_text(old or b"") or not is_text(new or b""):
        sides = [f"{sign}{_facts(data)}" for sign, data in (("-", old), ("+", new)) if data is not None]
        return "\n".join([*head, "binary content, not shown", *sides]) + "\n"
    before, after = _lines(old or b""), _lines(new or b"")
    body = _matched(before, after) if len(before) + len(after) <= _MATCHED_LINES else _one_hunk(before, after)
    return "\n".join([*head, *body]) + "\n"


def warnings(path: PurePosixPath, old: Content, new: Content, *, mode: int) -> tuple[str, ...]:
    """What a person should know before approving, computed from the bytes (V6, V8, case 46)."""
    files = [data for data in (old, new) if isinstance(data, bytes)]
    found = [*_about_place(path, mode if files else 0)]
    if isinstance(new, bytes):
        before = old if isinstance(old, bytes) else None
        found += _about_change(before, new) if before is not None else ()
        found += _about_text(before or b"", new)
    return tuple(found)


def _about_place(path: PurePosixPath, mode: int) -> Iterator[str]:
    names = [part.casefold() for part in path.parts]
    if names[-1] in _POWERFUL_NAMES or _POWERFUL_FOLDERS & set(names):
        yield "other programs run or obey this file: its content can act later"
    if mode & 0o111:
        yield "the file is executable"
    kinds = hidden_counts(str(path))
    if kinds:
        yield f"the path holds hidden characters ({_listed(kinds)})"


def _about_change(old: bytes, new: bytes) -> Iterator[str]:
    if not is_text(old):
        yield "replaces a binary file with text" if is_text(new) else "replaces a binary file"
        return
    if new and not new.strip() and old.strip():
        yield "leaves the file blank"
    elif not new and old:
        yield "leaves the file empty"
    ends = (_line_ends(old), _line_ends(new))
    if ends[0] != ends[1] and "none" not in ends:
        yield f"line ends change from {ends[0]} to {ends[1]}"
    if old.startswith(_BOM) != new.startswith(_BOM):
        yield "a byte order mark is " + ("removed" if old.startswith(_BOM) else "added")
    if old.endswith(b"\n") != new.endswith(b"\n") and new:
        yield "the line end at the end of the file is " + ("removed" if old.endswith(b"\n") else "added")
    if old.split() == new.split():
        yield "only white space changes"


def _about_text(old: bytes, new: bytes) -> Iterator[str]:
    if not is_text(new):
        yield f"the new content is not text: {_facts(new)}"
        return
    if is_text(old):
        yield from _about_hidden(old, new)
    if any(len(line) > _LONG_LINE for line in new.split(b"\n")):
        yield f"has a line longer than {_LONG_LINE} bytes"


def _about_hidden(old: bytes, new: bytes) -> Iterator[str]:
    had, has = (hidden_counts(data.removeprefix(_BOM).decode().replace("\r\n", "\n")) for data in (old, new))
    for verb, fewer, more in (("adds", had, has), ("removes", has, had)):
        kinds = {kind: count - fewer.get(kind, 0) for kind, count in more.items() if count > fewer.get(kind, 0)}
        if kinds:
            yield f"{verb} hidden characters ({_listed(kinds)})"
    if old and (had != has or old.startswith(_BOM) != new.startswith(_BOM)) and _seen(old) == _seen(new):
        yield "nothing that can be seen changes: only hidden characters do"


def _seen(data: bytes) -> str:
    """A text without what no screen shows."""
    return "".join(char for char in data.decode() if not is_hidden(char))


def _lines(data: bytes) -> list[str]:
    """Lines without their LF; a CR stays, since it is a difference, and a last line without line end says so itself."""
    lines = data.decode().split("\n")
    last = lines.pop()
    return [*lines, last + _NO_NEWLINE] if last else lines


#: Ends a last line that has no line end, and so makes it differ from one that has.
_NO_NEWLINE = "\n\\ No newline at end of file"


def _matched(before: list[str], after: list[str]) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=True)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield _hunk_head(before[group[0][1] : group[-1][2]], after[group[0][3] : group[-1][4]], at=(group[0][1], group[0][3]))
        for tag, low, high, start, end in group:
            if tag == "equal":
                yield from (" " + line for line in before[low:high])
            else:
                yield from ("-" + line for line in before[low:high])
                yield from ("+" + line for line in after[start:end])


def _one_hunk(before: list[str], after: list[str]) -> Iterator[str]:
    shared = min(len(before), len(after))
    head = next((at for at in range(shared) if before[at] != after[at]), shared)
    rest = shared - head
    tail = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    first = max(0, head - _CONTEXT)
    keep = min(tail, _CONTEXT)
    old_side, new_side = before[head : len(before) - tail], after[head : len(after) - tail]
    end = before[len(before) - tail : len(before) - tail + keep]
    yield _hunk_head([*before[first:head], *old_side, *end], [*before[first:head], *new_side, *end], at=(first, first))
    yield from (" " + line for line in before[first:head])
    yield from ("-" + line for line in old_side)
    yield from ("+" + line for line in new_side)
    yield from (" " + line for line in end)


def _hunk_head(old_side: list[str], new_side: list[str], *, at: tuple[int, int]) -> str:
    old_count, new_count = len(old_side), len(new_side)
    return f"@@ -{at[0] + bool(old_count)},{old_count} +{at[1] + bool(new_count)},{new_count} @@"


def _line_ends(data: bytes) -> str:
    if b"\n" not in data and b"\r" not in data:
        return "none"
    if all_crlf(data):
        return "CRLF"
    return "mixed" if b"\r" in data else "LF"


def _facts(data: bytes) -> str:
    return f"{len(data)} bytes, {digest_bytes(data)}"


def _listed(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
