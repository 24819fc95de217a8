"""What is settled before a container exists: the run's facts, the image, the attempt's folder, the CLI's start."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.agent import Message, Start, brokered_tools, container_tools, versions
from runner.captures import from_json as capture_from_json
from runner.errors import SandboxError, SandboxUnavailableError
from runner.fence import Prompt, compose, system_rule
from runner.gateway import Expected, Reference
from runner.model import Attempt, Profile
from runner.policy.catalogue import model_name
from runner.sandbox.engine import ImageInfo
from runner.sandbox.snapshot import take_snapshot
from runner.store import Connection, RunRow, captures, choices, profiles
from runner.supervisor.apart import NOTHING, Apart, of_others
from runner.supervisor.continuing import Earlier, earlier
from runner.supervisor.definitions import known
from runner.supervisor.floors import floored
from runner.supervisor.intake import handed_on, standing_of
from runner.supervisor.parsing import parsed
from runner.supervisor.recollection import conversation_of
from runner.supervisor.resume import NUDGE, Restored

_log = logging.getLogger(__name__)
_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known before anything is started."""

    attempt: Attempt
    run: RunRow
    profile: Profile
    uid: int
    prompt: Prompt
    blocked: frozenset[str] = frozenset()  #: tools that are not offered, though the profile has them (C10)
    apart: Apart = NOTHING  #: what of others lies in the directory and is not for this run (invariant 10)
    earlier: tuple[Earlier, ...] = ()  #: the runs whose conversation it continues, oldest first

    @property
    def offered(self) -> Profile:
        """The profile with the tools that the agent is told of; calls are decided by the whole one."""
        return replace(self.profile, tools=tuple(name for name in self.profile.tools if name not in self.blocked))

    def still_open(self, restored: Restored | None) -> Facts:
        """The same, with every tool offered of which a call has still to be told its outcome."""
        tools = {entry.tool for entry in restored.entries if entry.told is None} if restored is not None else set()
        return replace(self, blocked=self.blocked - tools)

    @property
    def rule(self) -> str:
        """What the system prompt says of the fences in the conversation (R9)."""
        return system_rule(self.prompt.nonce, [prompt.nonce for _, prompt in self.earlier])

    @property
    def message(self) -> Message:
        """What the agent is asked first."""
        return Message(text=self.prompt.text, images=self.prompt.images)


def read_facts(conn: Connection, attempt: Attempt, run: RunRow) -> Facts:
    """The run's profile, its agent's uid, and its prompt with the very fence that is on record for it.

    Raises:
        FenceError: The prompt cannot be made with that fence.
        NotAllowedError: It is to continue what is not the owner's, or not this agent's.
    """
    stored = profiles.get(conn, run.profile_digest)
    capture = capture_from_json(captures.get(conn, run.capture).text)
    profile = floored(parsed(stored), run)
    return Facts(
        attempt=attempt,
        run=run,
        profile=profile,
        uid=stored.uid,
        prompt=compose(
            capture,
            run.sender,
            nonce=run.nonce,
            standing=standing_of(profile, run.sender),
            forwarded=handed_on(conn, run.capture),
        ),
        blocked=choices.of_agent(conn, run.agent).blocked,
        apart=of_others(conn, run),
        earlier=earlier(conn, run),
    )


def checked(image: ImageInfo | None) -> ImageInfo:
    """The image, if it is there and holds the CLI that this SDK was made for."""
    if image is None:
        raise SandboxUnavailableError("cannot start the run: there is no sandbox image", resolution="runner image build")
    _, wanted = versions()
    if image.cli_version != wanted:
        raise SandboxUnavailableError(
            f"cannot start the run: the sandbox image has CLI {image.cli_version}, the installed SDK wants {wanted}",
            resolution="runner image build",
        )
    return image


def lay_out(folder: Path, restored: Restored | None = None) -> None:
    """A container's own folder: snapshot and gateway, both empty yet, and on resume the transcript. Blocking; for a thread."""
    for name in ("snapshot", "gateway"):
        (folder / name).mkdir(parents=True)
        (folder / name).chmod(0o755)
    if restored is not None:
        session = folder / "session"
        session.mkdir()
        transcript = session / f"{restored.session_id}.jsonl"
        transcript.write_text("".join(f"{line}\n" for line in restored.lines), encoding="utf-8")
        # The probe's copy in the tmpfs home keeps the mode: what the CLI cannot append to, it does not mirror either.
        transcript.chmod(0o644)
        session.chmod(0o755)


def copy_in(folder: Path, facts: Facts) -> None:
    """Copy the agent's directory into the empty snapshot. Blocking; for a thread.

    Raises:
        SandboxError: The agent's uid is somebody's, or its directory cannot be copied.
    """
    profile = facts.profile
    _check_uid(facts.uid, profile.cwd)
    without = facts.apart.files_in(profile.cwd)
    take_snapshot(
        profile.cwd,
        folder / "snapshot",
        read=profile.read,
        hide=profile.hide,
        max_bytes=profile.snapshot.max_bytes,
        max_files=profile.snapshot.max_files,
        allow_hard_links=profile.allow_hard_links,
        without=without,
    )
    facts.apart.tidy(folder / "snapshot", without)


def clear(folder: Path) -> None:
    """Remove an attempt's folder, also when an effect is being shown in its snapshot at the same moment. For a thread."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
    _log.warning("cannot remove %s; the next start does", folder)


def _check_uid(uid: int, cwd: Path) -> None:
    """A uid shared with a person shares the kernel's quotas with them, and files that are theirs (M1)."""
    try:
        owner = cwd.stat().st_uid
    except OSError as error:
        raise SandboxError(
            f"cannot copy {cwd}: {error.strerror}", resolution="make the directory, or publish the profile with another cwd"
        ) from None
    if uid in (owner, os.geteuid(), 0):
        raise SandboxError(
            f"cannot start the run: uid {uid}, reserved for this agent, is the owner of {cwd} or the supervisor",
            resolution="give the directory to another user",
        )


def start_of(facts: Facts, *, resume: bool) -> Start:
    """How the CLI is started for a run."""
    return start_with(facts.profile, facts.offered, session_id=facts.run.session_id or "", rule=facts.rule, resume=resume)


def start_with(profile: Profile, offered: Profile, *, session_id: str, rule: str, resume: bool = False) -> Start:
    """How the CLI is started: the profile's prompt, then the rule that names the run's fence (R9)."""
    system_prompt = f"{profile.system_prompt}\n\n{rule}"
    return Start(profile=offered, session_id=session_id, system_prompt=system_prompt, resume=resume)


def message_of(facts: Facts, restored: Restored | None) -> Message | None:
    """What the CLI is asked: the capture, a nudge, or nothing where it has an open call to begin with."""
    if restored is None or not restored.begun:
        return facts.message
    return Message(text=NUDGE) if restored.nudge else None


def reference_of(facts: Facts, image: ImageInfo, *, resume: bool, past: Sequence[str] = ()) -> Reference:
    """What every model request of the run must agree with; `past` are the lines of the transcript its container is given.

    Raises:
        SandboxError: How the image's CLI describes its tools is not on record.
    """
    profile = facts.offered
    names = (*container_tools(profile), *(model_name(name) for name in brokered_tools(profile)))
    start = start_of(facts, resume=resume)
    conversation = conversation_of((*(prompt for _, prompt in facts.earlier), facts.prompt), past=past)
    expected = Expected(system=start.system_prompt, definitions=known(image), conversation=conversation)
    return Reference(model=profile.model, offered=frozenset(names), expected=expected)
