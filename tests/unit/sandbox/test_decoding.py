"""The container of one picture: how it is confined, and that its answer is believed in nothing (I1, M1)."""

from __future__ import annotations

import asyncio
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.decoders import recipe, sift
from runner.sandbox.decoding import PIPES, UID, DecoderSpec, Job, UndecodableError, create_body, decode, read
from runner.sandbox.inspection import departures
from runner.sandbox.spec import FIRST_UID, LAST_UID

IMAGE = "sha256:" + "a" * 64
SPEC = DecoderSpec(seccomp='{"defaultAction": "SCMP_ACT_ERRNO"}')
JOB = Job(data=b"x", media_type="image/png", within=(10, 10), shrink=False)


def test_an_answer_of_exactly_its_own_size_is_a_picture() -> None:
    """I1."""
    grey, colour = read(b"P5\n2 1\n255\nab", within=(10, 10)), read(b"P6\n1 1\n255\nabc", within=(10, 10))
    assert (grey.width, grey.height, grey.channels, grey.data) == (2, 1, 1, b"ab")
    assert (colour.width, colour.height, colour.channels, colour.data) == (1, 1, 3, b"abc")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"P6",
        b"P6\n1 1\n255\nab",
        b"P6\n1 1\n255\nabcd",
        b"P5\n1 1\n255\nabc",
        b"P4\n1 1\n255\na",
        b"P6\n0 1\n255\n",
        b"P6\n-1 1\n255\n",
        b"P6\n01 1\n255\nabc",
        b"P6\n1 1\n65535\nabcabc",
        b"P6\n1 1\n254\nabc",
        b"P6 1 1 255 abc",
        b"P6\n# obey\n1 1\n255\nabc",
        b"P6\n11 1\n255\n" + bytes(33),
        b"P6\n1 11\n255\n" + bytes(33),
        b"P6\n99999 99999\n255\n",
        b"P7\nWIDTH 1\nHEIGHT 1\n",
        b"\x89PNG\r\n\x1a\n",
        b"P6\n1 1\n255\nabcP6\n1 1\n255\nabc",
    ],
)
def test_any_other_answer_is_none(answer: bytes) -> None:
    """I1: whoever took the decoder over still only chooses pixels."""
    with pytest.raises(UndecodableError):
        read(answer, within=(10, 10))


@given(st.binary(max_size=64))
def test_whatever_comes_out_is_refused_or_exactly_as_long_as_it_says(answer: bytes) -> None:
    try:
        found = read(answer, within=(10, 10))
    except UndecodableError:
        return
    assert len(found.data) == found.width * found.height * found.channels
    assert max(found.width, found.height) <= 10


class SlowEngine:
    """An engine that takes its time to create a container."""

    def __init__(self) -> None:
        self.asked, self.made = asyncio.Event(), asyncio.Event()
        self.removed: list[str] = []

    async def create(self, body: object) -> str:
        """After a while."""
        self.asked.set()
        await self.made.wait()
        return "c1"

    async def remove(self, container: str) -> None:
        """Noted."""
        self.removed.append(container)

    async def inspect(self, container: str) -> None:
        """It is gone."""


def test_a_container_that_is_being_made_when_nobody_wants_it_any_more_is_removed() -> None:
    """Another picture of the same capture was none meanwhile."""

    async def go() -> list[str]:
        engine = SlowEngine()
        decoding = asyncio.create_task(decode(cast("Any", engine), JOB, spec=SPEC, image=IMAGE, labels={}))
        await engine.asked.wait()
        decoding.cancel()
        await asyncio.sleep(0)
        engine.made.set()
        with pytest.raises(asyncio.CancelledError):
            await decoding
        return engine.removed

    assert asyncio.run(go()) == ["c1"]


@pytest.mark.parametrize("media_type", PIPES)
@pytest.mark.parametrize("shrink", [False, True])
def test_nothing_of_the_sender_stands_in_the_command(media_type: str, shrink: bool) -> None:
    """I1: types and sizes are ours; the file comes over stdin."""
    job = Job(data=b"; rm -rf /", media_type=media_type, within=(12, 34), shrink=shrink)
    assert set(job.script) <= set("abcdefghijklmnopqrstuvwxyzP0123456789 |-=:/")
    assert ("pamscale -xyfit 12 34" in job.script) is shrink
    assert "rm" not in job.script.replace("pngtopam", "").split()


def test_its_container_is_confined_like_an_agents_and_sees_nothing() -> None:
    """M1, I1: no mount, no place to write, no network, no capability, no environment, a uid of nobody."""
    body = create_body(SPEC, JOB, image=IMAGE, labels={"a": "b"})
    host = body["HostConfig"]
    assert (host["Mounts"], host["Tmpfs"], host["NetworkMode"], host["ReadonlyRootfs"]) == ([], {}, "none", True)
    assert (host["CapDrop"], host["CapAdd"], host["Privileged"]) == (["ALL"], [], False)
    assert host["SecurityOpt"] == ["no-new-privileges", f"seccomp={SPEC.seccomp}"]
    assert host["Memory"] == host["MemorySwap"]
    assert host["PidsLimit"] <= 16
    assert body["Env"] == ["HOME=/", "PATH=/usr/bin:/bin"]
    assert body["User"] == f"{UID}:{UID}"
    assert not FIRST_UID <= UID <= LAST_UID


def test_a_container_that_is_not_as_asked_is_seen() -> None:
    """M2."""
    body = create_body(SPEC, JOB, image=IMAGE, labels={"a": "b"})
    given: dict[str, Any] = {"Config": body, "Image": IMAGE, "Mounts": [], "HostConfig": body["HostConfig"]}
    whole = {
        **given,
        "HostConfig": {
            **body["HostConfig"],
            "MaskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
            "ReadonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"],
        },
    }
    assert departures(SPEC, body, whole) == ()
    for key, value in [
        ("NetworkMode", "bridge"),
        ("ReadonlyRootfs", False),
        ("CapDrop", []),
        ("Memory", 0),
        ("Tmpfs", {"/x": ""}),
    ]:
        weak = {**whole, "HostConfig": {**whole["HostConfig"], key: value}}
        assert departures(SPEC, body, weak) == (f"HostConfig.{key}",)
    assert departures(SPEC, body, {**whole, "Mounts": [{"Type": "bind"}]}) == ("Mounts",)


def test_only_what_the_recipe_keeps_goes_into_the_image(tmp_path: Path) -> None:
    """I1: no other program, no setuid file, nothing that is no file."""
    whole, kept = tmp_path / "whole.tar", tmp_path / "kept.tar"
    with tarfile.open(whole, "w") as archive:
        for name, mode, kind in [
            ("./bin/dash", 0o4777, tarfile.REGTYPE),
            ("./usr/bin/pngtopam", 0o755, tarfile.REGTYPE),
            ("./usr/bin/ppmtompeg", 0o755, tarfile.REGTYPE),
            ("./usr/lib/x/libpng16.so.16", 0o777, tarfile.SYMTYPE),
            ("./usr/bin/dwebp", 0o600, tarfile.CHRTYPE),
            ("./etc/passwd", 0o644, tarfile.REGTYPE),
        ]:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.type, entry.uid, entry.size = mode, kind, 1000, 1 if kind == tarfile.REGTYPE else 0
            archive.addfile(entry, BytesIO(b"x") if entry.size else None)
    sift(whole, kept, recipe())
    with tarfile.open(kept) as archive:
        found = {member.name: (member.mode, member.uid, member.type) for member in archive}
    assert found == {
        "bin/dash": (0o755, 0, tarfile.REGTYPE),
        "usr/bin/pngtopam": (0o755, 0, tarfile.REGTYPE),
        "usr/lib/x/libpng16.so.16": (0o755, 0, tarfile.SYMTYPE),
    }


def test_the_recipe_names_every_program_that_is_run() -> None:
    what = recipe()
    programs = {
        word for pipe in (*PIPES.values(), "webpmux", "pamdepth", "pamscale") for word in pipe.replace("|", " ").split()[:1]
    }
    assert {f"usr/bin/{program}" for program in programs} <= set(what.keep)
    assert what.tag.startswith("runner-pictures:")
    assert "--variant=custom" in what.arguments(Path("/x.tar"))
