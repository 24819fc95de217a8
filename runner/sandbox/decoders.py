"""The image in which pictures are decoded: made once, when the first picture comes, from the host's own Debian mirror.

Owns that it holds what its recipe keeps and nothing else: no setuid file, no program but the decoders and a shell.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import tarfile
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from runner.errors import SandboxError, SandboxUnavailableError
from runner.resources import sandbox_dir
from runner.sandbox.base import MAKE_SECONDS, make_root
from runner.sandbox.engine import Engine

REPOSITORY = "runner-pictures"
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the image is made of; `tag` names it by its content."""

    tag: str
    suite: str
    epoch: int
    packages: tuple[str, ...]
    keep: tuple[str, ...]

    def arguments(self, target: Path) -> tuple[str, ...]:
        """Arguments of mmdebstrap: nothing is installed, no maintainer's script runs, the packages are only unpacked."""
        hook = (
            'set -e; cd "$1"; mkdir debs; cd debs; '
            f'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get -q download {" ".join(self.packages)}; '
            'for deb in *.deb; do dpkg-deb -x "$deb" ..; done; cd ..; rm -rf debs'
        )
        return ("--variant=custom", "--format=tar", f"--customize-hook={hook}", self.suite, str(target))


def recipe() -> Recipe:
    """The recipe in sandbox/pictures.toml.

    Raises:
        SandboxError: It cannot be read.
    """
    path = sandbox_dir() / "pictures.toml"
    try:
        text = path.read_text(encoding="utf-8")
        fields = tomllib.loads(text)
        packages = tuple(_package(name) for name in fields["packages"])
        content = hashlib.sha256(f"{platform.machine()} {text}".encode()).hexdigest()
        return Recipe(
            tag=f"{REPOSITORY}:{content[:12]}",
            suite=str(fields["suite"]),
            epoch=int(fields["epoch"]),
            packages=packages,
            keep=tuple(fields["keep"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxError(f"cannot read the recipe of the decoders: {error}", details=str(path)) from error


def _package(name: str) -> str:
    if _PACKAGE.fullmatch(name) is None:
        raise ValueError("a package's name is none")
    return name


async def decoders(engine: Engine, *, progress: Callable[[str], None]) -> str:
    """The image's id; it is made where it is not there yet.

    Raises:
        SandboxError: It cannot be made.
        SandboxUnavailableError: What it is made with is not installed, or the engine does not answer.
    """
    what = recipe()
    if (found := await engine.image(what.tag)) is not None:
        return found.id
    tool = shutil.which("mmdebstrap")
    if tool is None:
        raise SandboxUnavailableError(
            "cannot make the decoders of pictures: mmdebstrap is not installed", resolution="apt-get install -y mmdebstrap"
        )
    progress(f"making {what.tag}: {', '.join(what.packages)}")
    with tempfile.TemporaryDirectory(prefix="runner-pictures-") as folder:
        whole, kept = Path(folder) / "whole.tar", Path(folder) / "kept.tar"
        await make_root(tool, what.arguments(whole), epoch=what.epoch, progress=progress)
        sift(whole, kept, what)
        repository, _, tag = what.tag.partition(":")
        await engine.call(
            "import the decoders of pictures",
            lambda client: cast("Any", client).import_image_from_file(str(kept), repository=repository, tag=tag),
            deadline=MAKE_SECONDS,
        )
    made = await engine.image(what.tag)
    if made is None:
        raise SandboxError("cannot make the decoders of pictures: the engine did not import them")
    return made.id


def sift(whole: Path, kept: Path, what: Recipe) -> None:
    """Copy what the recipe keeps: files and links, root's, not writable by others and never setuid. Blocking, and short."""
    with tarfile.open(whole) as source, tarfile.open(kept, "w") as target:
        for member in source:
            name = member.name.removeprefix("./")
            if not (member.isreg() or member.issym()) or not any(fnmatchcase(name, pattern) for pattern in what.keep):
                continue
            member.name, member.mode, member.mtime = name, member.mode & 0o755, what.epoch
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            target.addfile(member, source.extractfile(member) if member.isreg() else None)
