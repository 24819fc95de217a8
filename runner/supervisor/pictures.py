"""Pictures of a capture: decoded in a throw-away container, shrunk to what a model sees whole, written anew (I1).

Owns that what is stored, what a person can look at and what the model gets are the same pixels, and that nothing else of the
sender's file goes on: no metadata, no second frame, no trailing byte. It never says that a picture is safe (R2).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Protocol

from runner.captures import BOUNDS, png, sniff
from runner.captures.images import is_animated, less_room, room_for
from runner.errors import CaptureError
from runner.model import Capture, Image, Sender
from runner.resources import sandbox_dir
from runner.sandbox.decoders import decoders
from runner.sandbox.decoding import DecoderSpec, Job, UndecodableError, confined, decode
from runner.sandbox.engine import Engine
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL
from runner.supervisor.decodes import Turns

_log = logging.getLogger(__name__)
#: Sizes that are tried until the file is small enough; the second is by the measure of the first.
_TRIES = 4


class Pictures(Protocol):
    """Makes a capture's pictures anew."""

    async def clean(self, capture: Capture, *, sender: Sender) -> Capture:
        """The same capture with pictures of ours; `sender` is whose turn it takes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """With what, and in whose turn, the pictures of one capture are decoded."""

    spec: DecoderSpec
    image: str
    sender: Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Studio:
    """Implements `Pictures` with containers of this supervisor."""

    engine: Engine
    owner: str  #: label of this supervisor's containers
    boot: str  #: label of what this process made of them
    runtime: str | None = None
    _turns: Turns = field(default_factory=Turns)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def clean(self, capture: Capture, *, sender: Sender) -> Capture:
        """The same capture with pictures of ours; with the first that is none, the others are given up.

        Raises:
            CaptureError: One of them is no picture that can be decoded, or they are too large.
            SandboxError: Nothing here can decode pictures now.
        """
        if not capture.images:
            return capture
        async with self._making:
            image = await decoders(self.engine, progress=_log.info)
        seccomp = await asyncio.to_thread((sandbox_dir() / "seccomp.json").read_text, encoding="utf-8")
        spec = confined(seccomp, self.runtime)
        table = _Table(spec=spec, image=image, sender=sender)
        try:
            async with asyncio.TaskGroup() as group:
                made = [group.create_task(self._clean(one, at, table)) for at, one in enumerate(capture.images, 1)]
        except ExceptionGroup as group_of_one:
            raise group_of_one.exceptions[0] from None
        return replace(capture, images=tuple(task.result() for task in made))

    async def _clean(self, given: Image, at: int, table: _Table) -> Image:
        facts = sniff(given.data)
        if facts is None or facts.media_type not in BOUNDS.image_types:
            raise CaptureError(f"cannot take image {at}: it is no PNG, JPEG, GIF or WebP picture")
        within = room_for(facts)
        for _ in range(_TRIES):
            job = Job(
                data=given.data,
                media_type=facts.media_type,
                within=within,
                shrink=facts.width > within[0] or facts.height > within[1],
                animated=is_animated(given.data),
            )
            data = await self._written(job, at, table)
            if len(data) <= BOUNDS.shown_bytes:
                return Image(name=given.name, media_type="image/png", data=data)
            within = less_room(within, size=len(data))
        raise CaptureError(f"cannot take image {at}: it does not become small enough", resolution="send a smaller one")

    async def _written(self, job: Job, at: int, table: _Table) -> bytes:
        """A PNG of what the picture decodes to."""
        try:
            async with self._turns.turn(table.sender):
                labels = {STATE_LABEL: self.owner, BOOT_LABEL: self.boot}
                pixels = await decode(self.engine, job, spec=table.spec, image=table.image, labels=labels)
        except UndecodableError as error:
            raise CaptureError(f"cannot take image {at}: {error.brief}", resolution="send another picture") from None
        return await asyncio.to_thread(png.encode, pixels.width, pixels.height, pixels.data, channels=pixels.channels)
