"""What a call would do, worked out from the real files before anybody is asked. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from runner.broker.preview import preview, warnings
from runner.broker.targets import Target, look, shown
from runner.broker.tools import TOOLS, Tool, check_arguments, restoring
from runner.broker.values import ABSENT, FOLDER, UNDO, Impossible, Order, Plan, Result, image_of
from runner.broker.words import summary
from runner.digest import parse_call
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
    known = TOOLS.get(tool)
    if known is None:
        return Impossible(reason=f"{tool} is not carried out here")
    found = _understood(known, arguments, paths)
    return found if isinstance(found, Impossible) else _planned(tool, found, cwd, expected=None)


def plan_undo(order: Order) -> Plan | Impossible:
    """What taking an effect back would do, or why it cannot be: what stands there now is no longer what it left behind.

    Args:
        order: The undo; its pre-images are what the effect left behind.
    """
    found = job_of(order)
    return found if isinstance(found, Impossible) else _planned(order.tool, found, order.cwd, expected=order)


def job_of(order: Order) -> Job | Impossible:
    """An order's job, from its stored text, which is parsed again."""
    call = parse_call(order.tool, order.raw)
    if call.input is None:
        return Impossible(reason=f"the stored input is malformed: {call.fault}")
    known = _undoing(order) if order.tool == UNDO else TOOLS.get(order.tool)
    if known is None:
        return Impossible(reason=f"{order.tool} is not carried out here")
    return _understood(known, call.input, order.paths)


def hindrance(root: Beneath, target: Target, result: Result) -> Impossible | None:
    """Why a result cannot be put in place though the target is as it should be: a directory that is in use is not removed."""
    if target.data is FOLDER and result.data is None and root.names(target.parts):
        return Impossible(reason="the directory is no longer empty")
    return None


def _planned(tool: str, job: Job, cwd: Path, *, expected: Order | None) -> Plan | Impossible:
    try:
        with Beneath.open(cwd) as root:
            target = look(root, job.path, folder=job.tool.folder)
            if isinstance(target, Impossible):
                return target
            if expected is not None and image_of(target.data) != expected.pre_images.get(str(job.path)):
                return Impossible(reason=f"{shown(job.path)} has changed since")
            result = job.tool.transform(job.arguments, target.data)
            if isinstance(result, Impossible):
                return result
            hindered = hindrance(root, target, result)
    except OSError as error:
        return Impossible(reason=f"the agent's directory cannot be opened: {error.strerror}")
    return hindered or Plan(
        tool=tool,
        targets=(job.path,),
        pre_images=MappingProxyType({str(job.path): image_of(target.data)}),
        post_image=image_of(result.data) or ABSENT,
        preview=preview(job.path, target, result),
        warnings=warnings(job.path, target.data, result.data, mode=target.mode),
        summary=summary(job.path, target, result),
    )


def _understood(tool: Tool, arguments: Mapping[str, Json], paths: tuple[ResolvedPath, ...]) -> Job | Impossible:
    """The call as a job of one target; the path that was decided on must be the path that was asked for."""
    fault = check_arguments(tool, arguments)
    if fault is not None:
        return fault
    if len(paths) != 1 or paths[0].asked != arguments[tool.path]:
        return Impossible(reason=f"argument {tool.path} was not resolved")
    return Job(tool=tool, arguments=arguments, path=paths[0].resolved)


def _undoing(order: Order) -> Tool:
    """The tool of an undo; which kind of thing its target is, its images say."""
    directory = image_of(FOLDER)
    return restoring(order.restores, folder=directory in (*order.pre_images.values(), order.post_image, _restored(order)))


def _restored(order: Order) -> object:
    return None if order.restores is None else image_of(order.restores.data)
