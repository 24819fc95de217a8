"""One picture decoded in one throw-away container: bytes in, a size and raw pixels out, none of which is believed.

Owns that the container is hardened like an agent's, has no mount, no writable place and no secret, and is gone afterwards; and
that its answer is exactly as many bytes as its own size says, within the bound (I1).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Protocol

from runner.errors import SandboxError, SandboxMismatchError
from runner.sandbox.box import Box, Disposer, dispose, finish
from runner.sandbox.engine import Attached
from runner.sandbox.inspection import departures
from runner.sandbox.kernels import Kernel, calls_for, kernel_of
from runner.sandbox.proof import Prover, seen_otherwise
from runner.sandbox.spec import LAST_UID, Mount, host_config

#: Owns nothing on any host, and is no agent's.
UID = LAST_UID + 1
SECONDS = 30.0
_MIB = 1024 * 1024
_GVISOR_PIDS = 128
_HEADER = re.compile(rb"P([56])\n([1-9][0-9]{0,4}) ([1-9][0-9]{0,4})\n255\n")
_LONGEST_HEADER = 32
_COLOURS = {b"5": 1, b"6": 3}
#: Decoder of each type; what is transparent stands on white for person and model alike, of several frames the first counts.
_FLAT_PNG = "pngtopam -mix -background=rgb:ff/ff/ff"
PIPES: Mapping[str, str] = MappingProxyType(
    {
        "image/png": _FLAT_PNG,
        "image/jpeg": "jpegtopnm",
        "image/gif": "giftopnm -image=1",
        "image/webp": f"dwebp -quiet -o - -- - | {_FLAT_PNG}",
    }
)
_ENVIRONMENT: Mapping[str, str] = MappingProxyType({"HOME": "/", "PATH": "/usr/bin:/bin"})
_FIRST_FRAME = "webpmux -get frame 1 -o - -- - | "


class UndecodableError(SandboxError):
    """The decoders make nothing of it, or something that is no picture of the size it says."""

    code, exit_code, http_status = "picture", 2, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """Rows of 8-bit samples from the top; `channels` is 1 (grey) or 3 (red, green, blue)."""

    width: int
    height: int
    channels: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A picture to decode. `within`: what it must fit into; `shrink`: its header says that it does not.

    `animated`: a WebP of several frames, of which only the first is taken out.
    """

    data: bytes
    media_type: str
    within: tuple[int, int]
    shrink: bool
    animated: bool = False

    @property
    def script(self) -> str:
        """What the container's shell runs; nothing of it is the sender's."""
        scale = f" | pamscale -xyfit {self.within[0]} {self.within[1]}" if self.shrink else ""
        return f"{_FIRST_FRAME if self.animated else ''}{PIPES[self.media_type]} | pamdepth 255{scale}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderSpec:
    """How the container is confined: as an agent's, with nothing mounted and nowhere to write."""

    seccomp: str
    runtime: str | None = None
    mounts: tuple[Mount, ...] = ()
    memory: int = 512 * _MIB
    cpus: float = 1.0
    pids: int = 16
    nofile: int = 64
    shared_bytes: int = _MIB
    uid: int = UID

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing but where programs are, and a home that the runtime would add."""
        return _ENVIRONMENT

    @property
    def kernel(self) -> Kernel:
        """Whose kernel it runs on."""
        return kernel_of(self.runtime)

    def tmpfs(self) -> dict[str, str]:
        """None at all."""
        return {}


def confined(seccomp: str, runtime: str | None) -> DecoderSpec:
    """The spec for a runtime: gVisor takes a list of calls of its own, and its own threads count among the processes."""
    kernel = kernel_of(runtime)
    spec = DecoderSpec(seccomp=calls_for(kernel, seccomp), runtime=runtime)
    return replace(spec, pids=_GVISOR_PIDS) if kernel is Kernel.GVISOR else spec


class DecodingEngine(Disposer, Prover, Protocol):
    """What decoding needs of the engine."""

    async def create(self, body: Mapping[str, Any]) -> str:
        """See Engine."""
        ...

    async def start(self, container: str) -> None:
        """See Engine."""
        ...

    async def attach(self, container: str) -> Attached:
        """See Engine."""
        ...


def create_body(spec: DecoderSpec, job: Job, *, image: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The body of the engine's create request."""
    return {
        "Image": image,
        "Entrypoint": ["/bin/dash", "-c"],
        "Cmd": [job.script],
        "Env": sorted(f"{name}={value}" for name, value in spec.environment.items()),
        "User": f"{spec.uid}:{spec.uid}",
        "WorkingDir": str(PurePosixPath("/")),
        "Hostname": "pictures",
        "Labels": dict(labels),
        "Tty": False,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": True,
        "StopTimeout": 1,
        "HostConfig": host_config(spec),
    }


async def decode(engine: DecodingEngine, job: Job, *, spec: DecoderSpec, image: str, labels: Mapping[str, str]) -> Pixels:
    """Decode one picture.

    Args:
        engine: The engine.
        job: The picture.
        spec: How its container is confined.
        image: The decoders' image, by its id.
        labels: Name the container as ours, so that one that is left over is found.

    Raises:
        UndecodableError: It is no picture that the decoders know.
        SandboxError: The container is not as it was asked for, or the engine does not answer.
    """
    body = create_body(spec, job, image=image, labels=labels)
    creation = asyncio.ensure_future(engine.create(body))
    try:
        container = await asyncio.shield(creation)
    except asyncio.CancelledError:
        await finish(_undone(engine, creation))
        raise
    box: Box | None = None
    try:
        box = Box(engine, container, await engine.attach(container))
        wrong = departures(spec, body, await engine.inspect(container) or {})
        if wrong:
            raise SandboxMismatchError("cannot decode a picture: its container is not as asked", details=", ".join(wrong))
        await engine.start(container)
        # Until it is seen to be as asked it has nothing of the sender's: it waits for its first byte.
        seen = await seen_otherwise(engine, spec, container)
        if seen:
            raise SandboxMismatchError("cannot decode a picture: its container is not as asked", details=", ".join(seen))
        answer, code = await _talk(box, job)
    finally:
        await finish(box.destroy() if box is not None else dispose(engine, container))
    if code != 0:
        raise UndecodableError("it cannot be decoded")
    return read(answer, within=job.within)


async def _undone(engine: Disposer, creation: asyncio.Future[str]) -> None:
    """Remove what was still being made when nobody wanted it any more."""
    with contextlib.suppress(SandboxError):
        await dispose(engine, await creation)


def read(answer: bytes, *, within: tuple[int, int]) -> Pixels:
    """The container's answer, held against its own size and the bound.

    Raises:
        UndecodableError: It is not exactly one picture.
    """
    found = _HEADER.match(answer[:_LONGEST_HEADER])
    if found is None:
        raise UndecodableError("it cannot be decoded")
    width, height, channels = int(found[2]), int(found[3]), _COLOURS[found[1]]
    if width > within[0] or height > within[1]:
        raise UndecodableError("it is larger than its header says")
    data = answer[found.end() :]
    if len(data) != width * height * channels:
        raise UndecodableError("what was decoded has another size than it says")
    return Pixels(width=width, height=height, channels=channels, data=data)


async def _talk(box: Box, job: Job) -> tuple[bytes, int | None]:
    """Hand the picture in while the answer is read, up to the most that it may be."""
    limit = job.within[0] * job.within[1] * 3 + _LONGEST_HEADER
    handing = asyncio.create_task(_hand_in(box, job.data))
    try:
        async with asyncio.timeout(SECONDS):
            return await _listen(box, limit), await box.exit_code(SECONDS)
    except TimeoutError:
        raise UndecodableError(f"it was not decoded within {SECONDS:g} seconds") from None
    finally:
        handing.cancel()
        await asyncio.gather(handing, return_exceptions=True)


async def _hand_in(box: Box, data: bytes) -> None:
    try:
        await box.send(data)
    except SandboxError:
        return  # it ended before it had read everything: its answer says whether that was enough
    await box.end_input()


async def _listen(box: Box, limit: int) -> bytes:
    answer = bytearray()
    while (chunk := await box.receive()) is not None:
        if chunk.stream == "out":
            answer += chunk.data
        if len(answer) > limit:
            raise UndecodableError("it is larger than its header says")
    return bytes(answer)
