"""A real engine that is absent, silent, refusing, or hangs at a start: stepped over, named, swept in the end (M8, case 102)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from runner.errors import SandboxUnavailableError
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import BOOT_LABEL, STATE_LABEL, launch, reap
from runner.settings import Settings
from runner.supervisor import sweep as sweeping
from runner.supervisor.facts import gather
from runner.supervisor.health import Level, examine
from runner.supervisor.sweep import Sweep
from tests.helpers.own_engine import OwnEngine, own_engine
from tests.helpers.sandbox_fixtures import OWNER as OURS
from tests.helpers.sandbox_fixtures import an_order
from tests.integration.sandbox.inside import nobody
from tests.unit.supervisor.conducting import OWNER
from tests.unit.supervisor.waiting import Pooled
from tests.unit.supervisor.world import World, play

pytestmark = pytest.mark.docker

#: Seconds that the engine has to answer; the product waits for longer.
DEADLINE = 1.0
#: A runtime whose start hangs for as long as a file is there.
HANGING = """#!/bin/sh
for word; do [ "$word" = start ] && while [ -e "$0.hang" ]; do sleep 0.1; done; done
exec runc "$@"
"""
REFUSAL = b'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{"message": "no"}'


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("runtime") / "hanging"
    program.write_text(HANGING)
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def own(hanging: Path) -> Iterator[OwnEngine]:
    with own_engine(runtimes={"hanging": {"path": str(hanging)}}) as engine:
        yield engine


@pytest.fixture(scope="module")
def small(own: OwnEngine, sandbox_image: ImageInfo) -> ImageInfo:
    found = own.load_small(sandbox_image.id)
    return ImageInfo(id=found, tag="small", content_digest="", size=0, cli_version="", base="")


def test_a_start_that_hangs_is_stepped_over_and_named_and_gone_once_it_ends(
    own: OwnEngine, small: ImageInfo, hanging: Path, tmp_path: Path
) -> None:
    """Issue 7 item 4: the launch ends in its time, others are served, doctor names it, and it is reaped once it can be."""
    hang = Path(f"{hanging}.hang")
    settings = Settings(state_dir=tmp_path / "state", model="scripted:none")

    async def story() -> None:
        async with Engine(host=own.host, deadline=DEADLINE) as engine:
            await meets(engine)

    async def meets(engine: Engine) -> None:
        with pytest.raises(SandboxUnavailableError, match="start the container"):
            await launch(engine, an_order(tmp_path, small, runtime="hanging"), on_created=nobody)
        (stuck,) = await engine.find({STATE_LABEL: OURS})
        assert await reap(engine, owner=OURS, keep=()) == ()
        other = await launch(engine, an_order(tmp_path, small), on_created=nobody)
        facts = await gather(settings, engine, owner=OURS, status={})
        (said,) = (check for check in examine(facts) if check.name == "containers")
        assert (said.level, stuck[:12] in said.found, other.container_id[:12] in said.found) == (Level.WRONG, True, False), said
        await other.destroy()
        await asyncio.to_thread(hang.unlink)
        while await engine.find({STATE_LABEL: OURS}):
            await reap(engine, owner=OURS, keep=())

    hang.touch()
    try:
        asyncio.run(asyncio.wait_for(story(), 60))
    finally:
        hang.unlink(missing_ok=True)


class Between:
    """Stands between the supervisor and the engine: passes everything on, refuses everything, or says nothing."""

    def __init__(self, engine: str, at: Path) -> None:
        self.mode, self._engine, self._at = "pass", engine.removeprefix("unix://"), at

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While it can be reached."""
        server = await asyncio.start_unix_server(self._serve, self._at)
        yield
        server.close()
        self._at.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.mode == "silent":
                await reader.read()
            elif self.mode == "refuse":
                await reader.readuntil(b"\r\n\r\n")
                writer.write(REFUSAL)
            else:
                there, back = await asyncio.open_unix_connection(self._engine)
                await asyncio.gather(_copy(reader, back), _copy(there, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        sink.write(data)
        await sink.drain()
    sink.close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "SOON", 0.2)
    monkeypatch.setattr(sweeping, "EVERY", 0.2)


@pytest.mark.usefixtures("quick")
def test_a_sweep_that_meets_an_absent_a_refusing_and_a_silent_engine_goes_on_until_all_is_removed(
    own: OwnEngine, small: ImageInfo, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """M8: of a former boot, by label; what others own stays. In between the engine itself is stopped and started again."""
    made(own, small, OWNER, "before")
    theirs = made(own, small, "theirs", "before")

    async def story(sweep: Sweep, between: Between, folder: Path) -> None:
        said = partial(until, caplog=caplog)
        await said("no engine answers")
        async with between.listening():
            between.mode = "refuse"
            await said("the engine refused")
            between.mode = "silent"
            await said("did not answer within")
            await asyncio.to_thread(own.stop)
            between.mode = "pass"
            await said("no engine answers")
            assert sweep.former == (folder,)
            await asyncio.to_thread(own.start)
            await there(own, [theirs])
            assert sweep.former == ()
            assert own.process is not None
            own.process.send_signal(signal.SIGSTOP)
            await said("did not answer within")
            own.process.send_signal(signal.SIGCONT)
            made(own, small, OWNER, "before")
            await there(own, [theirs])

    assert not swept(own, tmp_path, story).exists()
    own.docker("rm", "-f", theirs)


def swept(own: OwnEngine, tmp_path: Path, story: Callable[[Sweep, Between, Path], Awaitable[None]]) -> Path:
    """A sweep that looks again and again, by way of somebody between it and the engine; a folder of a former boot."""

    async def scene(world: World) -> Path:
        pooled, at = Pooled(world), tmp_path / "between.sock"
        async with Engine(host=f"unix://{at}", deadline=DEADLINE) as engine:
            around = replace(pooled.pool.around, boot="now", engine=engine)
            folder = pooled.stage.attempts / "r_old-0-0"
            (folder / "snapshot").mkdir(parents=True)
            sweep = Sweep(around=around, pool=pooled.pool, former=(folder,))
            stop = sweep.start()
            try:
                await story(sweep, Between(own.host, at), folder)
            finally:
                await stop()
        await pooled.stage.drain.finish()
        return folder

    return play(tmp_path, scene)


async def there(own: OwnEngine, expected: list[str]) -> None:
    """Wait until the engine has these containers and no others."""
    while (await asyncio.to_thread(own.docker, "ps", "-aq", "--no-trunc")).stdout.split() != expected:  # noqa: ASYNC110
        await asyncio.sleep(0.1)


async def until(what: str, *, caplog: pytest.LogCaptureFixture) -> None:
    """Wait until it is said anew."""
    caplog.clear()
    while what not in caplog.text:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.05)


def made(own: OwnEngine, image: ImageInfo, owner: str, boot: str) -> str:
    """A container that somebody left."""
    labels = ("--label", f"{STATE_LABEL}={owner}", "--label", f"{BOOT_LABEL}={boot}")
    return own.docker("run", "-d", "-i", "--stop-signal=KILL", "--network=none", *labels, image.id, "cat").stdout.strip()
