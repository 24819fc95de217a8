"""The snapshot: a copy of the regular files of an agent's directory, all that its container will ever see of the host.

Owns what is copied and what is left out. A read-only mount of the directory itself is no wall: through it a process used a
host's socket, wrote to a FIFO, read a hard link and wrote into a submount (case 107). Nothing here follows a link.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from runner.errors import SnapshotError
from runner.paths import Selection
from runner.sandbox.beneath import Beneath
from runner.sandbox.dedicated import dedicated, place_of
from runner.sandbox.view import SnapshotView, apply_bytes, apply_directory
from runner.sandbox.walk import Caps, Copier, LeftOut, SnapshotReport

__all__ = ["LeftOut", "SnapshotReport", "SnapshotView", "apply_bytes", "apply_directory", "directory_of", "take_snapshot"]

_DEDICATED = "put the agent's own directory back, or name another in `cwd`; a link in its place is not followed"


def take_snapshot(  # noqa: PLR0913 - the profile's own fields, kept apart on purpose
    source: Path,
    destination: Path,
    *,
    read: Sequence[str],
    hide: Sequence[str],
    max_bytes: int,
    max_files: int,
    allow_hard_links: bool,
    without: Collection[tuple[str, ...]] = (),
) -> SnapshotReport:
    """Copy what `read` selects and `hide` does not hide.

    Blocking. On any failure nothing of `destination` is left.

    Args:
        source: The agent's directory; looked at again here, where it may have become another (see `dedicated`).
        destination: A directory that is empty or not there yet, outside `source`.
        read: gitignore patterns of what is copied.
        hide: gitignore patterns of what never is, case folded, whole directories.
        max_bytes: Cap on bytes really copied.
        max_files: Cap on files, links and directories made.
        allow_hard_links: Copy files that have another name too (case 29).
        without: Entries that are left out besides, by their names beneath `source`.

    Raises:
        SnapshotError: A pattern means nothing; the directory is missing, is no place for an agent, or is over a cap; the disk
            is full.
    """
    try:
        selection = Selection(read=read, hide=hide, without=without)
    except ValueError as error:
        raise SnapshotError(
            f"cannot use the patterns of {error}", resolution="write them as in a .gitignore file, one pattern an item"
        ) from None
    with directory_of(source) as inside:
        _check_place(source, place_of(inside), destination)
        try:
            destination.mkdir(mode=0o700, exist_ok=True)
            with Beneath.open(destination) as outside:
                copier = Copier(
                    source=inside,
                    destination=outside,
                    selection=selection,
                    caps=Caps(max_bytes=max_bytes, max_files=max_files, allow_hard_links=allow_hard_links),
                )
                report = copier.run()
            destination.chmod(0o755)
        except OSError as error:
            shutil.rmtree(destination, ignore_errors=True)
            raise SnapshotError(f"cannot copy {source}: {error.strerror or error}", details=str(error)) from error
        except BaseException:
            shutil.rmtree(destination, ignore_errors=True)
            raise
    return report


def directory_of(cwd: Path) -> Beneath:
    """An agent's directory, opened to be copied.

    Raises:
        SnapshotError: It is no place an agent may have, or cannot be opened.
    """
    try:
        return dedicated(cwd)
    except PermissionError as error:
        raise SnapshotError(f"cannot copy {cwd}: {error.strerror}", resolution=_DEDICATED) from None
    except OSError as error:
        raise SnapshotError(
            f"cannot copy {cwd}: {error.strerror or error}",
            resolution="create the directory that `cwd` names, or correct it",
        ) from None


def _check_place(source: Path, root: Path, destination: Path) -> None:
    try:
        target = destination.parent.resolve(strict=True) / destination.name
        occupied = destination.is_symlink() or (destination.exists() and any(destination.iterdir()))
    except OSError as error:
        raise SnapshotError(f"cannot copy {source}: {error.strerror or error}", details=str(destination)) from None
    if target.is_relative_to(root) or root.is_relative_to(target) or occupied:
        raise SnapshotError(
            f"cannot copy {source}: the snapshot's place is inside it, around it, or not empty", details=str(destination)
        )
