"""Where no agent's directory may be, whoever asks: the system's own directories, and what a supervisor keeps (G5, case 106).

Looks at names and at what stands beside them; reads nothing. Homes and other agents' directories are told elsewhere.
"""

from __future__ import annotations

from pathlib import Path

_KERNEL = ("/proc", "/sys", "/dev")
_SYSTEM = (
    *("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/run", "/sbin", "/usr", "/var/run"),
    *("/var/lib/docker", "/var/lib/containerd", "/var/lib/dpkg", "/var/log", "/lost+found"),
)
#: Places beneath those that are an operator's own.
_OWN = ("/usr/local", "/run/user")
#: What a supervisor's state directory has in it, and where in it agents may have their directories.
_STATE, AGENTS = ("runner.db", "lock"), "agents"


def unfit(real: Path) -> str | None:
    """Why a directory, by its path without links, can be no agent's; None where nothing speaks against it."""
    own = any(Path(place) in real.parents for place in _OWN)
    if real == Path("/") or (_beneath(real, (*_KERNEL, *_SYSTEM)) and not own):
        return f"it leads to {_shown(real)}: the system's own directories are no place for an agent"
    for place in (real, *real.parents):
        if all((place / name).exists() for name in _STATE) and not _an_agents(real, place):
            return f"it leads to {_shown(real)}: what a supervisor keeps in {_shown(place)} is no place for an agent"
    return None


def _beneath(real: Path, places: tuple[str, ...]) -> bool:
    return any(real.is_relative_to(place) for place in places)


def _an_agents(real: Path, state: Path) -> bool:
    """Directories of shipped agents stand there."""
    parts = real.relative_to(state).parts
    return len(parts) > 1 and parts[0] == AGENTS


def _shown(path: Path) -> str:
    return ascii(str(path))[1:-1]
