"""The default base of the sandbox image: a Debian root file system made with mmdebstrap and imported.

Owns the recipe's reading and its running. No image registry is asked; packages come from the host's own Debian mirror.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from runner.errors import SandboxError
from runner.resources import sandbox_dir
from runner.sandbox.engine import Engine

REPOSITORY = "runner-base"
MAKE_SECONDS = 900.0
_PASSED = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRecipe:
    """What the root file system is made of; `tag` names the image it becomes."""

    text: str
    tag: str
    suite: str
    variant: str
    packages: tuple[str, ...]
    excludes: tuple[str, ...]
    epoch: int

    def arguments(self, target: Path) -> tuple[str, ...]:
        """Arguments of mmdebstrap."""
        return (
            f"--variant={self.variant}",
            f"--include={','.join(self.packages)}",
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in self.excludes),
            "--format=tar",
            self.suite,
            str(target),
        )


def base_recipe() -> BaseRecipe:
    """The recipe in sandbox/base.toml.

    Raises:
        SandboxError: It cannot be read.
    """
    path = sandbox_dir() / "base.toml"
    try:
        text = path.read_text(encoding="utf-8")
        fields = tomllib.loads(text)
        return BaseRecipe(
            text=text,
            tag=f"{REPOSITORY}:{hashlib.sha256(f'{platform.machine()} {text}'.encode()).hexdigest()[:12]}",
            suite=str(fields["suite"]),
            variant=str(fields["variant"]),
            packages=tuple(fields["packages"]),
            excludes=tuple(fields["excludes"]),
            epoch=int(fields["epoch"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxError(f"cannot read the base recipe: {error}", details=str(path)) from error


async def base_image(engine: Engine, *, progress: Callable[[str], None]) -> str:
    """The base image's name, made when it is not there yet.

    Raises:
        SandboxError: mmdebstrap is missing or failed.
    """
    recipe = base_recipe()
    if await engine.image(recipe.tag) is not None:
        progress(f"base {recipe.tag} is there already")
        return recipe.tag
    tool = shutil.which("mmdebstrap")
    if tool is None:
        raise SandboxError(
            "cannot make the base image: mmdebstrap is not installed",
            resolution="apt-get install -y mmdebstrap, or name another base: runner image build --base debian:bookworm-slim",
        )
    progress(f"making base {recipe.tag} with mmdebstrap ({recipe.suite}, {', '.join(recipe.packages)})")
    with tempfile.TemporaryDirectory(prefix="runner-base-") as folder:
        target = Path(folder) / "rootfs.tar"
        await make_root(tool, recipe.arguments(target), epoch=recipe.epoch, progress=progress)
        progress("importing the base")
        repository, _, tag = recipe.tag.partition(":")
        await engine.call(
            "import the base image",
            lambda client: cast("Any", client).import_image_from_file(str(target), repository=repository, tag=tag),
            deadline=MAKE_SECONDS,
        )
    if await engine.image(recipe.tag) is None:
        raise SandboxError("cannot make the base image: the engine did not import it")
    return recipe.tag


async def make_root(tool: str, arguments: Sequence[str], *, epoch: int, progress: Callable[[str], None]) -> None:
    """Run mmdebstrap to its end.

    Args:
        tool: Where it is.
        arguments: What to make, and into which file.
        epoch: Seconds since 1970 that files are clamped to.
        progress: Told each step.

    Raises:
        SandboxError: It failed or did not end; its last lines are in the details.
    """
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    environment |= {"SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        tool,
        *arguments,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    last: list[str] = []
    try:
        async with asyncio.timeout(MAKE_SECONDS):
            assert process.stderr is not None  # noqa: S101 - it was asked for as a pipe
            async for raw in process.stderr:
                line = raw.decode("utf-8", "replace").strip()
                last = [*last[-9:], line]
                if line.startswith("I: "):
                    progress(line.removeprefix("I: "))
            code = await process.wait()
    except TimeoutError:
        code = None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise SandboxError(
            "cannot make the base image: mmdebstrap failed",
            details="\n".join(last),
            resolution="it needs root (or user namespaces) and a Debian mirror; or name another base with --base",
        )
