"""Whose pictures are decoded when: a contact's many hold up nobody; the first that is none ends its capture's (I1)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import pytest

from runner.errors import CaptureError
from runner.model import OWNER, Capture, Image, Sender, SenderKind
from runner.sandbox.decoding import Job, Pixels, UndecodableError
from runner.supervisor import pictures as studios
from runner.supervisor.pictures import Studio
from tests.helpers import pictures

MARIA, BEN = (Sender(kind=SenderKind.CONTACT, petname=name, fingerprint=name) for name in ("maria", "ben"))
GOOD, BAD = pictures.png(), pictures.png(more=pictures.chunk(b"teXt", b"BAD"))


def a_capture(*files: bytes) -> Capture:
    return Capture(agent="a", images=tuple(Image(name="", media_type="image/png", data=data) for data in files))


class Decoders:
    """Stand in for the containers: nobody is let go before `open` says so, and who is in there is counted."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside: Counter[bytes] = Counter()
        self.most: Counter[bytes] = Counter()
        self.begun: list[bytes] = []
        self.cancelled = 0

    async def decode(self, _: object, job: Job, **__: object) -> Pixels:
        """One picture."""
        self.begun.append(job.data)
        self.inside[job.data] += 1
        self.most |= self.inside
        try:
            if job.data == BAD:
                raise UndecodableError("it cannot be decoded")
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.inside[job.data] -= 1
        return Pixels(width=1, height=1, channels=1, data=b"\0")

    async def image(self, *_: object, **__: object) -> str:
        """Made already."""
        return "decoders"


@pytest.fixture
def decoders(monkeypatch: pytest.MonkeyPatch) -> Decoders:
    made = Decoders()
    monkeypatch.setattr(studios, "decode", made.decode)
    monkeypatch.setattr(studios, "decoders", made.image)
    return made


def a_studio() -> Studio:
    return Studio(engine=cast("Any", None), owner="o", boot="b")


async def until(decoders: Decoders, count: int) -> None:
    for _ in range(500):
        if len(decoders.begun) >= count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"only {len(decoders.begun)} pictures were begun")


def test_the_owner_s_picture_passes_the_queue_of_all_contacts(decoders: Decoders) -> None:
    """A share of the decoders is the owner's alone."""

    async def go() -> None:
        studio = a_studio()
        theirs = [asyncio.create_task(studio.clean(a_capture(*[GOOD] * 8), sender=MARIA)) for _ in range(20)]
        await until(decoders, 1)
        mine = pictures.png(pictures.GREEN)
        own = asyncio.create_task(studio.clean(a_capture(mine), sender=OWNER))
        await until(decoders, 2)
        assert decoders.begun == [GOOD, mine]
        decoders.open.set()
        await own
        await asyncio.gather(*theirs)

    asyncio.run(go())
    assert decoders.most[GOOD] == 1


def test_another_contact_s_picture_stands_behind_one_of_the_first_s(decoders: Decoders) -> None:
    """One at a time per contact, however many captures it sent."""

    async def go() -> None:
        studio, ben_s = a_studio(), pictures.png(pictures.WHITE)
        theirs = [asyncio.create_task(studio.clean(a_capture(GOOD, GOOD), sender=MARIA)) for _ in range(5)]
        await until(decoders, 1)
        ben = asyncio.create_task(studio.clean(a_capture(ben_s), sender=BEN))
        await until(decoders, 2)
        assert decoders.begun == [GOOD, ben_s]
        decoders.open.set()
        await asyncio.gather(ben, *theirs)

    asyncio.run(go())


def test_the_first_picture_that_is_none_ends_the_decoding_of_its_capture(decoders: Decoders) -> None:
    """What else the capture held is given up at once: the one that is under way, and those that wait."""

    async def go() -> None:
        with pytest.raises(CaptureError, match="image 2"):
            await a_studio().clean(a_capture(GOOD, BAD, *[GOOD] * 6), sender=OWNER)
        begun = len(decoders.begun)
        assert begun < 8
        assert decoders.cancelled == begun - 1
        decoders.open.set()
        await asyncio.sleep(0.05)
        assert len(decoders.begun) == begun

    asyncio.run(go())
