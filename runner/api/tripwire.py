"""Tripwires: signs that a yes comes from within an agent's shell (W3). They warn and refuse; they are never the gate.

An agent that hides well is not seen here: what stands against it is the approver's credential, and a uid of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

import psutil

from runner.api.markers import carried

#: Programs that are agent CLIs, the package one is shipped in, and what interprets those of them that are scripts.
AGENTS = frozenset({"claude", "codex", "gemini", "cursor-agent", "opencode", "aider"})
_PACKAGE = "claude-code"
_INTERPRETERS = ("node", "bun", "deno", "python")


def agent_program(command: Sequence[str]) -> str | None:
    """The agent CLI that a command line runs, if it is one."""
    words = [PurePosixPath(word) for word in command[:2]]
    if len(words) == 2 and not words[0].name.startswith(_INTERPRETERS):
        words.pop()
    for word in words:
        if word.name.removesuffix(".js") in AGENTS or _PACKAGE in word.parts:
            return word.name
    return None


def signs(pid: int) -> tuple[str, ...]:
    """What of a process and its ancestors points to an agent; what may not be looked at says nothing."""
    try:
        process = psutil.Process(pid)
        line = [process, *process.parents()]
    except psutil.Error:
        return ()
    return tuple(dict.fromkeys(_signs(line)))


def _signs(line: Iterable[psutil.Process]) -> Iterable[str]:
    for process in line:
        with suppress(psutil.Error, OSError):
            yield from carried(process.environ())
        with suppress(psutil.Error, OSError):
            found = agent_program(process.cmdline())
            if found is not None:
                yield f"the program {found}"
