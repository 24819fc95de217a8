"""Starts `runner serve` where it outlives this command: as a systemd user unit, else as a process in a session of its own.

Owns the log file and what the new process is given. Secrets go through its environment, never through an argument list.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner.errors import SupervisorUnavailableError
from runner.settings import Settings, default_state_dir

LOG = "serve.log"
#: At a start, a log larger than this becomes serve.log.1.
MAX_LOG = 16 * 1024 * 1024
_TAIL = 25
#: Seconds for systemd's own commands.
_PATIENCE = 10
#: Variables that mean something to the supervisor, the engine's client or Python; a unit gets no others of ours.
_NAMES = ("PATH", "HOME", "LANG", "ANTHROPIC_API_KEY", "DOCKER_HOST", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_PREFIXES = ("RUNNER_", "XDG_", "PYTHON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A supervisor that is about to be ready, or not."""

    log: Path
    said: int  #: bytes of the log that are older than it
    ended: Callable[[], bool]


def launch(settings: Settings) -> Launched:
    """Start a supervisor in the background.

    Raises:
        SupervisorUnavailableError: No process could be started.
    """
    log = settings.state_dir / LOG
    environment = {**os.environ, "RUNNER_STATE_DIR": str(settings.state_dir), "RUNNER_MODEL": settings.model}
    try:
        said = _open_log(log)
        if not _user_manager_answers():
            return Launched(log=log, said=said, ended=_detached(log, environment))
        name = unit_name(settings.state_dir)
        subprocess.run(  # noqa: S603 - our own words, no shell
            unit_command(name, log=log, environment=environment),
            env=environment,
            timeout=_PATIENCE,
            check=True,
            capture_output=True,
        )
    except subprocess.CalledProcessError as error:
        raise _cannot(error.stderr.decode(errors="replace")) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _cannot(str(error)) from None
    return Launched(log=log, said=said, ended=lambda: not _active(name))


def read_tail(launched: Launched) -> str:
    """The last lines it logged."""
    with launched.log.open("rb") as file:
        file.seek(launched.said)
        return "\n".join(file.read(MAX_LOG).decode(errors="replace").splitlines()[-_TAIL:])


def unit_name(state_dir: Path) -> str:
    """`runner` for the usual state directory; another one has a unit of its own."""
    if state_dir == default_state_dir():
        return "runner"
    return f"runner-{hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:8]}"


def unit_command(name: str, *, log: Path, environment: dict[str, str]) -> list[str]:
    """The command that makes the unit. A crash starts it again, an error or a stop does not; what it reads comes by name."""
    kept = sorted(key for key in environment if key in _NAMES or key.startswith(_PREFIXES))
    properties = (
        "Type=exec",
        "KillMode=mixed",
        "TimeoutStopSec=90",
        "Restart=on-abnormal",
        "UMask=0077",
        f"WorkingDirectory={log.parent}",
        f"StandardOutput=append:{log}",
        f"StandardError=append:{log}",
    )
    return [
        *("systemd-run", "--user", "--quiet", "--collect", f"--unit={name}"),
        *(f"--property={line}" for line in properties),
        *(f"--setenv={key}" for key in kept),
        *serve_command(),
    ]


def serve_command() -> tuple[str, ...]:
    """The supervisor in the foreground, by the interpreter that runs this; nothing of the current directory is imported."""
    return (sys.executable, "-P", "-m", "runner", "serve")


def _detached(log: Path, environment: dict[str, str]) -> Callable[[], bool]:
    """A process that no terminal and no shell can take along when it goes."""
    with log.open("ab") as file:
        child = subprocess.Popen(  # noqa: S603 - our own words, no shell
            serve_command(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=log.parent,
            env=environment,
            start_new_session=True,
        )
    return lambda: child.poll() is not None


def _open_log(log: Path) -> int:
    """Make the log, private, or put a large one aside; how much is in it."""
    if log.exists() and log.stat().st_size > MAX_LOG:
        log.replace(log.with_name(f"{LOG}.1"))
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def _user_manager_answers() -> bool:
    if not shutil.which("systemctl") or not shutil.which("systemd-run"):
        return False
    return _systemctl("show", "--property=Version").startswith("Version=")


def _active(name: str) -> bool:
    return _systemctl("is-active", name).strip() in {"active", "activating", "reloading"}


def _systemctl(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own words, no shell
        (shutil.which("systemctl") or "systemctl", "--user", *arguments),
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
        errors="replace",
    )
    return done.stdout


def _cannot(cause: str) -> SupervisorUnavailableError:
    return SupervisorUnavailableError(
        "cannot start the supervisor in the background", details=cause.strip() or None, resolution="runner serve runs it here"
    )
