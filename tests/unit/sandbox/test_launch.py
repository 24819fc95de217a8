"""A launch gives a proven container or none at all, whatever fails and whenever it is cancelled (M2, M8, cases 95, 97, 98)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.errors import SandboxError, SandboxMismatchError, SandboxUnavailableError
from runner.model import Limits
from runner.sandbox import box as box_module
from runner.sandbox import proof as proof_module
from runner.sandbox.box import Box, Chunk
from runner.sandbox.launch import Mounts, launch, reap
from tests.helpers.fake_engine import FAKE_IMAGE, FakeContainer, FakeEngine
from tests.helpers.sandbox_fixtures import OWNER, an_order


async def nobody(_: str) -> None:
    return None


def test_the_steps_come_in_their_order_and_the_row_is_written_before_the_start(tmp_path):
    """Case 99, M8: attached before it starts, or its first words are lost; and known by its row before it can do anything."""
    engine = FakeEngine()

    async def run() -> Box:
        async def on_created(container: str) -> None:
            assert engine.containers[container].status == "created"
            engine.calls.append("row")

        box = await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=on_created)
        await box.send(b"hello")
        assert await box.receive() == Chunk(stream="out", data=b"hello")
        await box.destroy()
        return box

    box = asyncio.run(run())
    assert engine.calls == ["create", "row", "attach", "start", "inspect", "look", "remove", "inspect"]
    assert box.report["probe"] == 1
    assert engine.containers == {}


def test_the_container_is_labelled_for_its_owner_and_its_attempt(tmp_path):
    engine = FakeEngine()

    async def run() -> dict[str, str]:
        box = await launch(engine, an_order(tmp_path, FAKE_IMAGE, segment=3, attempt=2), on_created=nobody)
        labels = dict(engine.containers[box.container_id].body["Labels"])
        await box.destroy()
        return labels

    labels = asyncio.run(run())
    assert len(labels.pop("runner.launch")) == 32
    assert labels.pop("runner.spec").startswith("sha256:")
    assert labels == {
        "runner.state": OWNER,
        "runner.run": "r_0000000000000000",
        "runner.segment": "3",
        "runner.attempt": "2",
        "runner.agent": "scribe",
        "runner.profile": "sha256:" + "0" * 64,
    }


@pytest.mark.parametrize("step", ["create", "attach", "start", "inspect", "look"])
@pytest.mark.parametrize("kind", [SandboxError, SandboxUnavailableError])
def test_a_failure_at_any_step_leaves_no_container(tmp_path, step, kind):
    """Case 98."""
    engine = FakeEngine()
    engine.faults[step] = kind(f"cannot {step}")

    async def run() -> None:
        with pytest.raises(kind, match=f"cannot {step}"):
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        engine.faults.clear()
        # Where looking is what failed, the removal was asked for without proof that it happened.
        assert engine.containers == {}

    asyncio.run(run())


def test_a_row_that_cannot_be_written_stops_the_launch_before_the_start(tmp_path):
    engine = FakeEngine()

    async def on_created(_: str) -> None:
        raise OSError("disk full")

    async def run() -> None:
        with pytest.raises(OSError, match="disk full"):
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=on_created)

    asyncio.run(run())
    assert engine.containers == {}
    assert "start" not in engine.calls


def test_a_create_whose_answer_is_lost_is_swept_by_its_label(tmp_path):
    """Case 102: the container exists though the client gave up."""

    class Forgetful(FakeEngine):
        async def create(self, body: Any) -> str:
            await super().create(body)
            raise SandboxUnavailableError("cannot create the container: no answer")

    engine = Forgetful()

    async def run() -> None:
        with pytest.raises(SandboxUnavailableError):
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)

    asyncio.run(run())
    assert engine.containers == {}


@pytest.mark.parametrize("step", ["create", "attach", "start", "inspect", "look", "row", "report"])
def test_a_launch_cancelled_at_any_step_leaves_no_container(tmp_path, step):  # noqa: C901 - one step each
    """Case 95: also a create that completes only after the cancellation."""

    async def run() -> None:
        reached = asyncio.Event()

        async def mute(_: FakeContainer) -> None:
            await asyncio.sleep(3600)

        class Stalling(FakeEngine):
            async def _step(self, name: str) -> None:
                if name == step:
                    reached.set()
                    await asyncio.sleep(0.05)
                await super()._step(name)

            async def _run(self, held: FakeContainer) -> None:
                if step == "report":
                    reached.set()
                    await asyncio.sleep(3600)
                await super()._run(held)

        async def on_created(_: str) -> None:
            if step == "row":
                reached.set()
                await asyncio.sleep(3600)

        engine = Stalling(behaviour=mute)
        task = asyncio.create_task(launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=on_created))
        await reached.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert engine.containers == {}
        assert engine.calls.count("create") == 1

    asyncio.run(run())


def test_what_the_engine_did_not_apply_kills_the_container(tmp_path):
    engine = FakeEngine()
    engine.tamper = lambda answer: answer["HostConfig"].update(ReadonlyRootfs=False)

    async def run() -> None:
        with pytest.raises(SandboxMismatchError) as caught:
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        assert caught.value.details == "engine: HostConfig.ReadonlyRootfs"

    asyncio.run(run())
    assert engine.containers == {}


def test_what_is_not_in_force_kills_the_container(tmp_path):
    engine = FakeEngine()
    engine.tamper_report = lambda report: report.update(routes=1, devices=["lo", "eth0"])

    async def run() -> None:
        with pytest.raises(SandboxMismatchError) as caught:
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        assert caught.value.details == "inside: network device; inside: route"

    asyncio.run(run())
    assert engine.containers == {}


def test_what_the_host_sees_otherwise_kills_the_container(tmp_path):
    """M2: the supervisor's own look, when engine and container agree with what was asked."""
    engine = FakeEngine()
    engine.tamper_look = lambda seen: replace(seen, devices=frozenset({"lo", "eth0"}))

    async def run() -> None:
        with pytest.raises(SandboxMismatchError) as caught:
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        assert caught.value.details == "host: network device"

    asyncio.run(run())
    assert engine.containers == {}


def test_a_long_list_of_one_side_pushes_out_no_others_word(tmp_path):
    """A container with the host's root in it sees hundreds of mounts; the wall's table still says who saw it."""
    engine = FakeEngine()
    more = [[f"/host/{'x' * 100}{number}", "rw", "ext4"] for number in range(100)]
    engine.tamper_report = lambda report: report["mounts"].extend(more)
    engine.tamper_look = lambda seen: replace(seen, devices=frozenset({"lo", "eth0"}))

    async def run() -> None:
        with pytest.raises(SandboxMismatchError) as caught:
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        assert "; inside: 88 more; host: network device" in caught.value.details

    asyncio.run(run())


def test_nothing_of_the_agent_runs_before_it_is_proven(tmp_path):
    """M2: the first process waits for the word, and a difference means that it is never said."""
    ran: list[str] = []

    async def agent(container: FakeContainer) -> None:
        ran.append(container.id)

    engine = FakeEngine(behaviour=agent)
    engine.tamper_look = lambda seen: replace(seen, oom="0")

    async def run() -> None:
        with pytest.raises(SandboxMismatchError):
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        engine.tamper_look = lambda seen: seen
        box = await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        assert await box.receive() is None
        await box.destroy()

    asyncio.run(run())
    assert len(ran) == 1


def test_the_proof_carries_the_digest_that_is_on_the_container(tmp_path):
    engine = FakeEngine()

    async def run() -> None:
        box = await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)
        assert box.proof is not None
        assert engine.containers[box.container_id].body["Labels"]["runner.spec"] == box.proof.spec
        await box.destroy()

    asyncio.run(run())


def test_a_container_that_never_reports_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(proof_module, "REPORT_SECONDS", 0.05)

    class Mute(FakeEngine):
        async def _run(self, held: FakeContainer) -> None:
            while True:
                await held.err(b"noise\n")
                await asyncio.sleep(0.01)

    engine = Mute()

    async def run() -> None:
        with pytest.raises(SandboxError, match="no report within"):
            await launch(engine, an_order(tmp_path, FAKE_IMAGE), on_created=nobody)

    asyncio.run(run())
    assert engine.containers == {}


def test_a_place_that_is_no_directory_is_never_mounted(tmp_path):
    engine = FakeEngine()
    (tmp_path / "file.sock").touch()
    (tmp_path / "link").symlink_to("/proc/self")
    order = an_order(tmp_path, FAKE_IMAGE)

    async def run() -> None:
        for place in (tmp_path / "file.sock", tmp_path / "absent", tmp_path / "link", Path("/")):
            mounts = Mounts(snapshot=place, gateway=tmp_path / "gateway")
            with pytest.raises(SandboxError):
                await launch(engine, an_order(tmp_path, FAKE_IMAGE, mounts=mounts), on_created=nobody)

    asyncio.run(run())
    assert order.mounts.snapshot.is_dir()
    assert engine.calls == []


@pytest.mark.parametrize("change", [{"uid": 0}, {"limits": Limits(pids=-1)}, {"environment": {"LD_PRELOAD": "x"}}])
def test_an_order_for_a_weaker_wall_reaches_no_engine(tmp_path, change):
    engine = FakeEngine()

    async def run() -> None:
        with pytest.raises(SandboxError, match="cannot build a sandbox"):
            await launch(engine, an_order(tmp_path, FAKE_IMAGE, **change), on_created=nobody)

    asyncio.run(run())
    assert engine.calls == []


def test_reaping_takes_the_owners_leftovers_and_nothing_else():
    """Case 97."""
    engine = FakeEngine()

    async def run() -> None:
        names = [await engine.create({"Labels": {"runner.state": owner}}) for owner in ("mine", "mine", "mine", "theirs")]
        names.append(await engine.create({"Labels": {}}))
        assert await reap(engine, owner="mine", keep=[names[1]]) == (names[0], names[2])
        assert set(engine.containers) == {names[1], names[3], names[4]}
        assert await reap(engine, owner=None, keep=[names[1]]) == (names[3],)
        assert await reap(engine, owner="mine", keep=[names[1]]) == ()

    asyncio.run(run())


def test_a_leftover_whose_removal_hangs_is_stepped_over(monkeypatch):
    monkeypatch.setattr(box_module, "DESTROY_SECONDS", 0.05)

    class Hanging(FakeEngine):
        async def remove(self, container: str) -> None:
            if container == stuck[0]:
                await asyncio.sleep(3600)
            await super().remove(container)

    engine = Hanging()
    stuck: list[str] = []

    async def run() -> None:
        stuck.append(await engine.create({"Labels": {"runner.state": "mine"}}))
        other = await engine.create({"Labels": {"runner.state": "mine"}})
        assert await reap(engine, owner="mine", keep=()) == (other,)

    asyncio.run(run())
