"""Facts about this machine, and Debian packages onto it.

Owns the only calls of apt. Never installs without being root on Debian or Ubuntu: it then says what a person can do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scripts.progress import SetupError, run

#: Where Debian keeps PostgreSQL's programs, a folder for each version.
POSTGRESQL = Path("/usr/lib/postgresql")
COMMANDS = {"iproute2": "ip"}  #: packages whose command has another name
APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120")
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}


def is_debian(release: str) -> bool:
    """Whether the text of an os-release file names Debian, Ubuntu or a child of theirs."""
    fields = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    names = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").split()
    return bool({"debian", "ubuntu"} & set(names))


def can_install() -> bool:
    """Whether this process may install Debian packages here."""
    release = Path("/etc/os-release")
    text = release.read_text(encoding="utf-8") if release.exists() else ""
    return os.geteuid() == 0 and is_debian(text) and shutil.which("apt-get") is not None


def systemd_runs() -> bool:
    """Whether systemd is this machine's init: a `systemctl` on the PATH proves nothing."""
    return Path("/run/systemd/system").is_dir()


def compose() -> str | None:
    """The command that is Docker Compose here: the client's plugin, else Debian's program of its own; None without either.

    A client without the plugin takes `docker compose` for a wrong call: some print their usage and exit 0.
    """
    if shutil.which("docker"):
        asked = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True, text=True)
        if asked.returncode == 0 and "version" in asked.stdout.lower().partition("\n")[0]:
            return "docker compose"
    return "docker-compose" if shutil.which("docker-compose") else None


def has_tool(package: str) -> bool:
    """Whether what a test needs of a Debian package is here: its command, or PostgreSQL's, which are off the PATH."""
    if package == "postgresql":
        return shutil.which("initdb") is not None or any(POSTGRESQL.glob("*/bin/initdb"))
    return shutil.which(COMMANDS.get(package, package)) is not None


def is_true(value: str | None) -> bool:
    """Whether a variable such as `CI` or `YES` says yes; `0`, `false`, `no` and the empty text do not."""
    return (value or "").strip().lower() not in {"", "0", "false", "no"}


def install(packages: Sequence[str], *, logs: Path) -> None:
    """Install Debian packages without their recommendations.

    Raises:
        SetupError: Not root, not Debian, or apt failed.
    """
    names = " ".join(packages)
    if not can_install():
        raise SetupError(
            f"cannot install {names}: this needs root on Debian or Ubuntu",
            hint=f"run: sudo apt-get install -y --no-install-recommends {names}    then the same command again",
        )
    run([*APT, "update"], log=logs / "apt-update.log", what="reading the package lists", env=QUIET)
    run(
        [*APT, "install", "--no-install-recommends", *packages],
        log=logs / "apt-install.log",
        what=f"installing {names}",
        env=QUIET,
    )
