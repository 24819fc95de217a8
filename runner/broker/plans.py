"""What a call would do, worked out from the real files before anybody is asked. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from runner.broker.preview import diff, warnings
from runner.broker.targets import Target, look, shown
from runner.broker.tools import TOOLS, Result, Tool, check_arguments
from runner.broker.values import Impossible, Plan
from runner.digest import digest_bytes
from runner.model import Json, ResolvedPath
from runner.sandbox.beneath import Beneath


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A call whose arguments are the tool's own and whose one target is known."""

    tool: Tool
    arguments: Mapping[str, Json]
    path: PurePosixPath


def plan(
    tool: str,
    arguments: Mapping[str, Json],
    *,
    paths: tuple[ResolvedPath, ...],
    cwd: Path,
) -> Plan | Impossible:
    """What the call would do to the host's files as they are now, or why it cannot work (B6, V8; issue 5 item 3).

    Args:
        tool: The profile's name for the tool.
        arguments: Its strictly parsed input.
        paths: Where the decision found its path arguments to lead.
        cwd: The agent's directory on the host.
    """
    found = understood(tool, arguments, paths)
    if isinstance(found, Impossible):
        return found
    try:
        with Beneath.open(cwd) as root:
            target = look(root, found.path)
    except OSError as error:
        return Impossible(reason=f"the agent's directory cannot be opened: {error.strerror}")
    if isinstance(target, Impossible):
        return target
    result = found.tool.transform(arguments, target.data)
    if isinstance(result, Impossible):
        return result
    old = target.data
    return Plan(
        tool=tool,
        targets=(found.path,),
        pre_images=MappingProxyType({str(found.path): None if old is None else digest_bytes(old)}),
        post_image=digest_bytes(result.data),
        preview=diff(found.path, old, result.data),
        warnings=warnings(found.path, old, result.data, mode=target.mode),
        summary=_summary(found.path, target, result),
    )


def understood(tool: str, arguments: Mapping[str, Json], paths: tuple[ResolvedPath, ...]) -> Job | Impossible:
    """The call as a job of one target; the path that was decided on must be the path that was asked for."""
    known = TOOLS.get(tool)
    if known is None:
        return Impossible(reason=f"{tool} is not carried out here")
    fault = check_arguments(known, arguments)
    if fault is not None:
        return fault
    if len(paths) != 1 or paths[0].asked != arguments[known.path]:
        return Impossible(reason=f"argument {known.path} was not resolved")
    return Job(tool=known, arguments=arguments, path=paths[0].resolved)


def _summary(path: PurePosixPath, target: Target, result: Result) -> str:
    name = shown(path)
    if result.replacements:
        places = "1 replacement" if result.replacements == 1 else f"{result.replacements} replacements"
        return f"edit {name}: {places} ({len(target.data or b'')} bytes become {len(result.data)})"
    what = "new file" if target.data is None else f"replaces {len(target.data)} bytes"
    return f"write {len(result.data)} bytes to {name} ({what})"
