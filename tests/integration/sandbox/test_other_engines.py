"""Engines that are set up otherwise: with user namespaces, and with gVisor beneath a container (M2, issue 7 item 1).

Each is an engine of the test's own with the start-up probe and little else in its image; the proof is the product's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from campaigns.wall import MUTATIONS, Weakened, config, host
from runner.errors import SandboxError, SandboxMismatchError
from runner.model import OWNER, Capture, Image
from runner.sandbox.box import Proof
from runner.sandbox.decoders import decoders, recipe
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.kernels import DIFFERENCES
from runner.sandbox.launch import launch
from runner.supervisor.pictures import Studio
from tests.helpers import pictures
from tests.helpers.own_engine import GVISOR, OwnEngine, own_engine
from tests.helpers.sandbox_fixtures import an_order
from tests.integration.sandbox.inside import Said, inside, nobody

pytestmark = pytest.mark.docker


class Place(NamedTuple):
    """An engine with an image."""

    engine: Engine
    image: ImageInfo
    own: OwnEngine


def place(own: OwnEngine, image: ImageInfo) -> Place:
    small = own.load_small(image.id)
    told = ImageInfo(id=small, tag="small", content_digest="", size=0, cli_version="", base="")
    return Place(Engine(host=own.host), told, own)


@pytest.fixture(scope="module")
def gvisor(sandbox_image: ImageInfo) -> Iterator[Place]:
    with own_engine(runtimes=GVISOR) as own:
        found = place(own, sandbox_image)
        yield found
        found.engine.close()


@pytest.fixture(scope="module")
def remapped(sandbox_image: ImageInfo) -> Iterator[Place]:
    with own_engine(remapped=True) as own:
        found = place(own, sandbox_image)
        yield found
        found.engine.close()


def proven(where: Place, folder: Any, weaken: Callable[[dict[str, Any]], None] = lambda _: None, **changes: Any) -> Proof:
    """The proof of a container that was weakened behind the launch's back."""

    async def run() -> Proof:
        box = await launch(Weakened(where.engine, weaken), an_order(folder, where.image, **changes), on_created=nobody)
        await box.destroy()
        assert box.proof is not None
        return box.proof

    return asyncio.run(run())


def refused(where: Place, folder: Any, weaken: Callable[[dict[str, Any]], None] = lambda _: None, **changes: Any) -> str:
    """What is said about one that is not handed over."""
    with pytest.raises(SandboxError) as caught:
        proven(where, folder, weaken, **changes)
    return f"{caught.value.brief} {caught.value.details}" if isinstance(caught.value, SandboxMismatchError) else "never started"


def test_under_gvisor_a_container_is_proven_and_each_difference_is_on_record(gvisor, tmp_path):
    assert proven(gvisor, tmp_path, runtime="runsc").unseen == tuple(DIFFERENCES)


def test_under_gvisor_our_list_of_calls_is_in_force_or_nothing_starts(gvisor, tmp_path):
    """Without --oci-seccomp gVisor takes no list at all: seen from inside."""
    said = refused(gvisor, tmp_path, runtime="runsc-loose")
    assert "inside: Seccomp" in said
    assert "inside: seccomp list" in said


def test_a_runtime_that_only_calls_itself_gvisors_is_refused_by_what_the_host_sees(gvisor, tmp_path):
    """Nothing that gVisor is let off is let off on the host's own kernel."""
    said = refused(gvisor, tmp_path, runtime="runsc-false")
    assert "host: file servers (times" in said
    assert "host: no process is the container's kernel" in said


#: What gVisor, too, must be seen to lack from inside or from the host; the engine's word is the same under any runtime.
KEPT = (
    *("another uid", "capabilities kept", "no seccomp list", "a writable root", "no memory limit", "no process limit"),
    *("scratch that can run files", "a writable snapshot", "another directory as the snapshot", "one more mount"),
)


@pytest.mark.parametrize("name", KEPT)
def test_under_gvisor_a_weakened_wall_is_seen_by_more_than_the_engine(gvisor, tmp_path, name):
    """M2: by the container itself, or by what the host sees beneath it."""
    said = refused(gvisor, tmp_path, MUTATIONS[name].weaken, runtime="runsc")
    assert said == "never started" or "inside: " in said or "host: " in said, said


def test_with_user_namespaces_a_container_is_proven_by_its_mapped_uid(remapped, tmp_path):
    assert proven(remapped, tmp_path).unseen == ()
    said: Said = inside(remapped.engine, tmp_path, remapped.image, "cat /proc/self/uid_map")
    assert said.out.split() == ["0", "200000", "65536"]


@pytest.mark.parametrize(
    "weakening",
    [
        host("UsernsMode", "host"),
        config("User", "0:0"),
        host("CapAdd", ["NET_RAW"]),
        host("ReadonlyRootfs", False),
        host("Devices", [{"PathOnHost": "/dev/kmsg", "PathInContainer": "/dev/kmsg", "CgroupPermissions": "rwm"}]),
        host("Binds", ["/:/host:ro"]),
    ],
    ids=["the host's users", "root", "a capability", "a writable root", "a device", "the host's root"],
)
def test_with_user_namespaces_a_weakened_wall_is_refused(remapped, tmp_path, weakening):
    """What an engine must be let off there, its own devices and control groups, lets nothing else in."""
    said = refused(remapped, tmp_path, weakening.weaken)
    assert said == "never started" or "cannot trust the container" in said, said


@pytest.mark.parametrize(("kind", "runtime"), [("gvisor", "runsc"), ("remapped", None)])
def test_a_picture_is_decoded_there_in_a_container_that_the_host_has_looked_at(
    engine: Engine, request: pytest.FixtureRequest, kind: str, runtime: str | None
) -> None:
    """I1, M2: with gVisor's kernel, and by a mapped uid."""
    asyncio.run(decoders(engine, progress=lambda _: None))
    where: Place = request.getfixturevalue(kind)
    where.own.load(recipe().tag)
    studio = Studio(engine=where.engine, owner="here", boot="now", runtime=runtime)
    sent = Capture(agent="a", images=(Image(name="a.png", media_type="image/png", data=pictures.png()),))
    (made,) = asyncio.run(studio.clean(sent, sender=OWNER)).images
    assert pictures.pixels(made.data)[:2] == (16, 8)


def test_a_decoder_on_a_runtime_that_only_calls_itself_gvisors_is_given_no_picture(engine: Engine, gvisor: Place) -> None:
    asyncio.run(decoders(engine, progress=lambda _: None))
    gvisor.own.load(recipe().tag)
    studio = Studio(engine=gvisor.engine, owner="here", boot="now", runtime="runsc-false")
    sent = Capture(agent="a", images=(Image(name="a.png", media_type="image/png", data=pictures.png()),))
    with pytest.raises(SandboxMismatchError):
        asyncio.run(studio.clean(sent, sender=OWNER))
