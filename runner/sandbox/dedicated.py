"""An agent's directory, opened anew each time it is used: what stands there may not be what was published (case 106).

Owns that neither a snapshot nor an effect follows a link that has come to stand in its place, nor enters somebody's home.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from runner.profiles.grounds import unfit
from runner.profiles.survey import homes
from runner.sandbox.beneath import Beneath

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def dedicated(cwd: Path) -> Beneath:
    """Open it, once; what is looked at is what was opened. Directories above it may be links (case 34).

    Raises:
        OSError: EPERM with words for a person where it is no place for an agent, else what the system said.
    """
    try:
        beneath = Beneath(os.open(cwd, _FLAGS))
    except NotADirectoryError:
        if not stat.S_ISLNK(cwd.lstat().st_mode):
            raise
        raise _refused(cwd, f"it is a link now, to {_shown(cwd.readlink())}, and an agent's directory is none") from None
    try:
        why = _unfit(place_of(beneath))
    except BaseException:
        beneath.close()
        raise
    if why is not None:
        beneath.close()
        raise _refused(cwd, why)
    return beneath


def place_of(beneath: Beneath) -> Path:
    """Where on this host it was found."""
    with beneath.directory(()) as handle:
        return Path(f"/proc/self/fd/{handle}").readlink()


def _unfit(place: Path) -> str | None:
    if (why := unfit(place)) is not None:
        return why
    home = next((home for home in sorted(homes()) if home == place or place in home.parents), None)
    return None if home is None else f"it leads to {_shown(place)}, which is or holds the home directory {_shown(home)}"


def _shown(path: Path) -> str:
    return ascii(str(path))[1:-1]


def _refused(cwd: Path, why: str) -> OSError:
    return OSError(errno.EPERM, why, str(cwd))
