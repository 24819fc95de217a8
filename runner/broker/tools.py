"""What each brokered file tool makes of a file's bytes. Pure: arguments and old bytes in, new bytes or a refusal out.

Arguments are Claude Code's and no others (cli.md); an unknown key, a wrong type or a missing one is a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runner.broker.notebook import cell_edited
from runner.broker.text import all_crlf, is_text
from runner.broker.values import FOLDER, MAX_FILE_BYTES, Content, Impossible, PreImage, Result
from runner.model import Json

#: (arguments, what stands at the target) → what shall stand there.
Transform: TypeAlias = "Callable[[Mapping[str, Json], Content], Result | Impossible]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A file tool: the argument that names its target, every argument's type, what is optional, what it does.

    `folder`: its target is a directory, not a file.
    """

    path: str
    types: Mapping[str, type]
    optional: frozenset[str]
    transform: Transform
    folder: bool = False


def check_arguments(tool: Tool, arguments: Mapping[str, Json]) -> Impossible | None:
    """Why `arguments` are not the tool's, or None."""
    for name, value in arguments.items():
        kind = tool.types.get(name)
        if kind is None:
            return Impossible(reason=f"unknown argument {name[:60]!r}")
        if type(value) is not kind:
            return Impossible(reason=f"argument {name} must be a {'string' if kind is str else 'boolean'}")
    missing = sorted(set(tool.types) - tool.optional - set(arguments))
    if missing:
        return Impossible(reason=f"missing argument {missing[0]}")
    return None


def written(arguments: Mapping[str, Json], old: Content) -> Result | Impossible:
    """The exact content as UTF-8, line ends untouched (R80)."""
    data = str(arguments["content"]).encode()
    if len(data) > MAX_FILE_BYTES:
        return Impossible(reason=f"the content is larger than {MAX_FILE_BYTES} bytes")
    if data == old:
        return Impossible(reason="the file already holds exactly this content; nothing to write")
    return Result(data=data)


def edited(arguments: Mapping[str, Json], old: Content) -> Result | Impossible:
    """Exact replacement of a string in a text file (R84).

    UTF-8 never matches in the middle of a character, so bytes are searched. A file whose every line ends in CRLF keeps
    that: arguments that hold bare LF only are read as the file's own line ends.
    """
    if not isinstance(old, bytes):
        return Impossible(reason="the file does not exist; use Write to make it")
    if not is_text(old):
        return Impossible(reason="the file is not UTF-8 text")
    before, after = str(arguments["old_string"]).encode(), str(arguments["new_string"]).encode()
    if all_crlf(old) and b"\r" not in before + after:
        before, after = before.replace(b"\n", b"\r\n"), after.replace(b"\n", b"\r\n")
    fault = _match_fault(old, before, after)
    if fault is not None:
        return fault
    everywhere = arguments.get("replace_all") is True
    first = old.find(before)
    if not everywhere and old.find(before, first + 1) >= 0:
        return Impossible(reason="old_string occurs more than once; give more of its surroundings or set replace_all")
    count = old.count(before) if everywhere else 1
    if len(old) + count * (len(after) - len(before)) > MAX_FILE_BYTES:
        return Impossible(reason=f"the result would be larger than {MAX_FILE_BYTES} bytes")
    return Result(data=old.replace(before, after, count), replacements=count)


def made(arguments: Mapping[str, Json], old: Content) -> Result | Impossible:
    """A directory where there is nothing yet."""
    del arguments
    if old is not None:
        return Impossible(reason="the directory is already there; nothing to make")
    return Result(data=FOLDER)


def restoring(image: PreImage | None, *, folder: bool) -> Tool:
    """The tool of one undo: whatever stands at the target, it brings back what stood there before."""

    def restored(arguments: Mapping[str, Json], old: Content) -> Result | Impossible:
        del arguments, old
        if image is None:
            return Impossible(reason="what stood there before is not on record")
        return Result(data=image.data, mode=image.mode, owner=image.owner)

    return Tool(path="path", types={"undoes": str, "path": str}, optional=frozenset(), transform=restored, folder=folder)


def _match_fault(old: bytes, before: bytes, after: bytes) -> Impossible | None:
    if not before:
        return Impossible(reason="old_string is empty; use Write to replace the whole file")
    if before == after:
        return Impossible(reason="old_string and new_string are identical; nothing to change")
    if before not in old:
        return Impossible(reason="old_string does not occur in the file exactly as given")
    return None


TOOLS: Mapping[str, Tool] = {
    "Write": Tool(path="file_path", types={"file_path": str, "content": str}, optional=frozenset(), transform=written),
    "Edit": Tool(
        path="file_path",
        types={"file_path": str, "old_string": str, "new_string": str, "replace_all": bool},
        optional=frozenset({"replace_all"}),
        transform=edited,
    ),
    "NotebookEdit": Tool(
        path="notebook_path",
        types={"notebook_path": str, "cell_id": str, "new_source": str, "cell_type": str, "edit_mode": str},
        optional=frozenset({"cell_id", "cell_type", "edit_mode"}),
        transform=cell_edited,
    ),
    "CreateFolder": Tool(path="path", types={"path": str}, optional=frozenset(), transform=made, folder=True),
}
