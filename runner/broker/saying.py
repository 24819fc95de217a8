"""What a call does, in words for a person, from its record alone: one sentence, the same on every screen (V1, V10). Pure.

Our words come first, and a name that is no plain one is quoted, so no name reads like a part of the sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from urllib.parse import urlsplit

from runner.broker.values import FOLDER, UNDO, image_of
from runner.model import SERVER, WORKSPACE, Digest, Json, ResolvedPath
from runner.policy.catalogue import TOOLS

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A call as it is spoken of. `pre_images`: what stood at its targets when it was asked for; empty where nobody looked."""

    tool: str
    arguments: Mapping[str, Json]
    paths: tuple[ResolvedPath, ...] = ()
    pre_images: Mapping[str, Digest | None] = field(default_factory=lambda: MappingProxyType({}))

    def text(self, name: str) -> str:
        """An argument that is text; "" for anything else."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    @property
    def target(self) -> str:
        """Where it leads, relative to the agent's directory, as it is named in a sentence."""
        return named(str(self.paths[0].resolved)) if self.paths else "(no path)"

    @property
    def stood(self) -> str:
        """`nothing`, `a file`, `a directory`, or "" where nobody looked."""
        if not self.paths or str(self.paths[0].resolved) not in self.pre_images:
            return ""
        image = self.pre_images[str(self.paths[0].resolved)]
        return "nothing" if image is None else "a directory" if image == image_of(FOLDER) else "a file"


def does(call: Spoken) -> str:
    """What the call would do, as a sentence without its full stop."""
    say = _SENTENCES.get(call.tool)
    if say is not None:
        return say(call)
    server, _, tool = call.tool.removeprefix("mcp__").partition("__")
    if call.tool.startswith("mcp__") and tool and server != SERVER:
        return f"Call {named(tool)} of the connector {named(server)}"
    known = TOOLS.get(call.tool)
    if known is not None and known.description:
        # The rest is told to the model: how to go on while the call waits.
        return f"{call.tool}: {known.description.split('. ')[0].rstrip('.')}"
    given = ", ".join(named(name) for name in call.arguments)
    return f"Call {named(call.tool)}" + (f" with {given}" if given else "")


def target_of(call: Spoken) -> str:
    """What a person types to show that they looked: the host, the program, the file's name, else the tool's name."""
    if url := call.text("url"):
        return host_of(url) or url[:40]
    if command := call.text("command").split():
        return command[0][:40]
    if call.paths:
        return PurePosixPath(call.paths[0].resolved).name or call.tool
    return call.tool


def host_of(url: str) -> str:
    """The host an address names; "" when it names none."""
    try:
        return urlsplit(url.strip()).hostname or ""
    except ValueError:
        return ""


def named(name: str) -> str:
    """A name for a sentence: as it is, without the workspace before it; quoted where it could be read as more than a name."""
    short = name.removeprefix(f"{WORKSPACE}/")
    return short if _PLAIN_NAME.fullmatch(short) else json.dumps(short, ensure_ascii=False)


def lines_of(text: str) -> str:
    """How many lines a text has: `1 line`."""
    count = text.count("\n") + (not text.endswith("\n")) if text else 0
    return _counted(count, "line")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _sized(text: str) -> str:
    return f"{lines_of(text)}, {_counted(len(text.encode(errors='replace')), 'byte')}"


def _write(call: Spoken) -> str:
    verb = {"nothing": "Write a new file", "a file": "Replace the whole file"}.get(call.stood, "Write the file")
    return f"{verb} {call.target}, {_sized(call.text('content'))}"


def _edit(call: Spoken) -> str:
    where = "everywhere it occurs" if call.arguments.get("replace_all") is True else "in one place"
    return f"Change {call.target} {where}: {lines_of(call.text('old_string'))} out, {lines_of(call.text('new_string'))} in"


def _notebook(call: Spoken) -> str:
    verb = {"insert": "Insert a cell into", "delete": "Delete a cell of"}.get(call.text("edit_mode"), "Change a cell of")
    return f"{verb} the notebook {call.target}" + (f", {lines_of(source)}" if (source := call.text("new_source")) else "")


def _undo(call: Spoken) -> str:
    return f"Take back what {named(call.text('undoes'))} did to {call.target}"


def _page(call: Spoken) -> str:
    host = host_of(call.text("url"))
    return f"Fetch a page of {named(host)}, off this machine" if host else "Fetch a page, off this machine"


def _search(call: Spoken) -> str:
    return f"Ask a search service, off this machine, for {json.dumps(call.text('query'), ensure_ascii=False)}"


def _run(call: Spoken) -> str:
    language = call.text("language")
    kind = f" in {named(language)}" if language else ""
    return f"Run a program of {lines_of(call.text('code'))}{kind} in a container of its own"


def _shell(call: Spoken) -> str:
    return f"Run a shell command of {lines_of(call.text('command'))} in a container of its own"


def _reply(call: Spoken) -> str:
    return f"Send an answer of {lines_of(call.text('text'))} to whoever asked"


def _quoting(words: str, argument: str) -> Callable[[Spoken], str]:
    return lambda call: f"{words} {json.dumps(call.text(argument), ensure_ascii=False)}"


_SENTENCES: Mapping[str, Callable[[Spoken], str]] = MappingProxyType(
    {
        "Write": _write,
        "Edit": _edit,
        "NotebookEdit": _notebook,
        "CreateFolder": lambda call: f"Make the folder {call.target}",
        UNDO: _undo,
        "Read": lambda call: f"Read {call.target}",
        "Glob": _quoting("Look for files named", "pattern"),
        "Grep": _quoting("Search the files for", "pattern"),
        "FetchPage": _page,
        "WebFetch": _page,
        "WebSearch": _search,
        "MapSearch": _search,
        "RunCode": _run,
        "Bash": _shell,
        "Reply": _reply,
    }
)
