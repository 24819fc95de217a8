"""The sandbox image: what goes into it, its digest, and building it once.

Owns that an image is what its content digest says (Dockerfile, files, base recipe, the CLI's own bytes), and that the default
base needs no registry. The CLI is the one the installed SDK bundles; its path is the caller's to know.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from runner.digest import digest_json
from runner.errors import SandboxError
from runner.model import Digest
from runner.resources import dockerfile, sandbox_dir
from runner.sandbox.base import base_image, base_recipe
from runner.sandbox.engine import BASE_LABEL, CLI_LABEL, CONTENT_LABEL, DEFINITIONS_LABEL, Client, Engine, ImageInfo

REPOSITORY = "runner-sandbox"
LATEST = f"{REPOSITORY}:latest"
BUILD_SECONDS = 900.0
#: Files of sandbox/ that go into the image, with their modes there.
_INSIDE = {"prepare.sh": 0o555, "probe.sh": 0o555}
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What an image is made of."""

    digest: Digest
    cli_version: str
    base: str
    tag: str


def image_content(*, base: str | None, cli: Path) -> Content:
    """What the image would be made of, as one digest. Blocking: it reads the CLI's 400 MB.

    Args:
        base: Another base image by name, or None for our own root file system.
        cli: The CLI binary.

    Raises:
        SandboxError: The CLI or a packaged file cannot be read.
    """
    try:
        binary = hashlib.sha256()
        with cli.open("rb") as file:
            while chunk := file.read(_CHUNK):
                binary.update(chunk)
        files = {name: (sandbox_dir() / name).read_text(encoding="utf-8") for name in sorted(_INSIDE)}
        recipe = dockerfile().read_text(encoding="utf-8")
        version = cli_version(cli)
    except OSError as error:
        raise SandboxError(
            f"cannot build the sandbox image: {error.strerror or error}: {error.filename}",
            resolution="install the package again; it carries these files",
        ) from error
    digest = digest_json(
        "runner.image.v1",
        {
            "dockerfile": recipe,
            "files": dict(files),
            "cli": binary.hexdigest(),
            "version": version,
            "base": base or base_recipe().text,
        },
    )
    tag = f"{REPOSITORY}:{digest.removeprefix('sha256:')[:12]}"
    return Content(digest=digest, cli_version=version, base=base or base_recipe().tag, tag=tag)


def content_digest(*, base: str | None, cli: Path) -> Digest:
    """The digest alone; see `image_content`."""
    return image_content(base=base, cli=cli).digest


def cli_version(cli: Path) -> str:
    """The version that stands beside the CLI in its wheel; "unknown" where none does."""
    try:
        text = cli.with_name(f"{cli.name}.version").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "unknown"
    return text.split()[0][:40] if text.split() else "unknown"


async def image_info(engine: Engine) -> ImageInfo | None:
    """The image that containers are made of now; None before the first build."""
    return await engine.image(LATEST)


async def build_image(engine: Engine, *, base: str | None, cli: Path, progress: Callable[[str], None]) -> ImageInfo:
    """Build the image, or find the one with the same content.

    Args:
        engine: The engine.
        base: Another base image by name, such as `debian:bookworm-slim`; None makes our own with mmdebstrap.
        cli: The CLI binary.
        progress: Told each step, a line of plain text.

    Raises:
        SandboxError: A step failed; what it said is in the details.
    """
    began = time.monotonic()
    content = await asyncio.to_thread(image_content, base=base, cli=cli)
    if (present := await engine.image(content.tag)) is not None and present.content_digest == content.digest:
        progress(f"image {content.tag} is there already")
        await _tag_latest(engine, content.tag)
        return replace(present, tag=content.tag)
    root = base if base is not None else await base_image(engine, progress=progress)
    progress(f"building {content.tag} with CLI {content.cli_version}")
    await engine.call(
        "build the sandbox image",
        lambda client: _build(client, content, root=root, cli=cli, progress=progress),
        deadline=BUILD_SECONDS,
    )
    made = await engine.image(content.tag)
    if made is None or made.content_digest != content.digest:
        raise SandboxError("cannot build the sandbox image: the engine made another one")
    await _tag_latest(engine, content.tag)
    took = time.monotonic() - began
    progress(f"image {content.tag}: {made.size / 1e6:.0f} MB, {took:.1f} s")
    return replace(made, tag=content.tag, built_seconds=took)


async def keep_definitions(engine: Engine, image: ImageInfo, definitions: str) -> ImageInfo:
    """The same image with what was found out about its CLI on a label, under the same names.

    Args:
        engine: The engine.
        image: The image that was looked at.
        definitions: JSON text; see `ImageInfo.definitions`.

    Raises:
        SandboxError: The engine does not take it.
    """

    def label(client: Client) -> None:
        recipe = io.BytesIO(f"FROM {image.id}\n".encode())
        answers = client.build(fileobj=recipe, tag=image.tag, labels={DEFINITIONS_LABEL: definitions}, rm=True, decode=True)
        follow(answers, what="label the sandbox image", progress=lambda _: None)

    await engine.call("label the sandbox image", label, deadline=BUILD_SECONDS)
    await _tag_latest(engine, image.tag)
    made = await engine.image(image.tag)
    if made is None or (made.content_digest, made.definitions) != (image.content_digest, definitions):
        raise SandboxError("cannot label the sandbox image: the engine made another one")
    return replace(made, built_seconds=image.built_seconds)


async def _tag_latest(engine: Engine, tag: str) -> None:
    await engine.call("name the sandbox image", lambda client: client.tag(tag, REPOSITORY, "latest", force=True))


def _build(client: Client, content: Content, *, root: str, cli: Path, progress: Callable[[str], None]) -> None:
    """Stream the context to the engine and follow what it says."""
    with tempfile.TemporaryFile() as context:
        _write_context(context, cli=cli)
        context.seek(0)
        answers = client.build(
            fileobj=context,
            custom_context=True,
            dockerfile="Dockerfile",
            tag=content.tag,
            buildargs={"BASE": root},
            labels={CONTENT_LABEL: content.digest, CLI_LABEL: content.cli_version, BASE_LABEL: content.base},
            rm=True,
            forcerm=True,
            decode=True,
            timeout=int(BUILD_SECONDS),
            # Our own base has all it needs; another one fetches packages.
            network_mode="none" if root == content.base else None,
        )
        follow(answers, what="build the sandbox image", progress=progress)


def follow(answers: Any, *, what: str, progress: Callable[[str], None]) -> None:
    """Read an engine's progress stream to its end.

    Raises:
        SandboxError: It tells of an error; the last lines are in the details.
    """
    last: list[str] = []
    for answer in cast("Any", answers):
        if "error" in answer:
            raise SandboxError(f"cannot {what}: a step failed", details="\n".join([*last[-10:], str(answer["error"])])[:4000])
        line = str(answer.get("stream", "")).strip()
        if line:
            last.append(line)
            if line.startswith("Step "):
                progress(line)


def _write_context(context: IO[bytes], *, cli: Path) -> None:
    """The build context: what the digest was taken over and nothing else, with modes that any uid can use."""
    with tarfile.open(fileobj=context, mode="w") as archive:
        _add(archive, "Dockerfile", dockerfile(), mode=0o444)
        for name, mode in _INSIDE.items():
            _add(archive, name, sandbox_dir() / name, mode=mode)
        _add(archive, "claude", cli, mode=0o555)


def _add(archive: tarfile.TarFile, name: str, path: Path, *, mode: int) -> None:
    with path.open("rb") as file:
        entry = tarfile.TarInfo(name)
        entry.size = file.seek(0, io.SEEK_END)
        entry.mode = mode
        file.seek(0)
        archive.addfile(entry, file)
