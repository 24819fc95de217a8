"""Composition root: the only place where objects are wired, and where the clock and randomness come from."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from runner.agent import bundled_cli
from runner.api.admission import Admission
from runner.api.client import Client
from runner.api.credential import Credentials
from runner.api.ingress_server import open_ingress
from runner.api.server import ControlServer
from runner.api.tripwire import signs
from runner.errors import RunnerError, SupervisorUnavailableError
from runner.gateway import Patience, UpstreamFactory, make_upstream
from runner.model import JsonObject
from runner.notify.wiring import make_notifier
from runner.sandbox import image as images
from runner.sandbox.engine import Engine, ImageInfo
from runner.settings import Settings, control_socket, private_directory, socket_dir
from runner.store import Store
from runner.supervisor import definitions, health
from runner.supervisor.agents import Agents
from runner.supervisor.backstage import Backstage
from runner.supervisor.changes import Changes
from runner.supervisor.clockwork import Clockwork
from runner.supervisor.contexts import Contexts
from runner.supervisor.dispatch import Dispatch
from runner.supervisor.drain import Drain
from runner.supervisor.effects import Effects, Parts
from runner.supervisor.endings import Endings
from runner.supervisor.facts import gather
from runner.supervisor.failpoint import failpoint
from runner.supervisor.grants import Grants
from runner.supervisor.health import Check
from runner.supervisor.ids import Ids
from runner.supervisor.knocking import outward_checks
from runner.supervisor.lane import Lanes
from runner.supervisor.live import Live
from runner.supervisor.lock import hold
from runner.supervisor.measures import approvers, budgets_of, floors_of, room_of, sizes_of
from runner.supervisor.pictures import Studio
from runner.supervisor.pool import Pool
from runner.supervisor.pricing import price_checks
from runner.supervisor.recovery import Recovery
from runner.supervisor.replies import Replies
from runner.supervisor.segment import Conductor
from runner.supervisor.service import SupervisorService
from runner.supervisor.shipped import furnish
from runner.supervisor.standing import StandingYes
from runner.supervisor.steady import SteadyClock, known_time
from runner.supervisor.surroundings import Surroundings
from runner.supervisor.sweep import Sweep
from runner.supervisor.tenancy import Tenancy
from runner.supervisor.witness import Witness

#: Seconds in which an engine, or a supervisor, answers a person who asks how it is.
ASK_PATIENCE = 10.0


async def serve(settings: Settings, *, ready: Callable[[], None]) -> None:
    """Be the supervisor until SIGTERM or SIGINT; a second one stops at once.

    Args:
        settings: Checked settings.
        ready: Called when requests are answered.

    Raises:
        SupervisorUnavailableError: Another supervisor holds the state directory.
        RunnerError: Settings, store or model cannot be used.
    """
    private_directory(settings.state_dir)
    with hold(settings.state_dir):
        upstream = upstream_of(settings)
        async with AsyncExitStack() as stack:
            store = Store(settings.database_url.get_secret_value(), watch=failpoint(settings.failpoint))
            await asyncio.to_thread(store.open)
            stack.callback(store.close)
            engine = await stack.enter_async_context(Engine(host=settings.docker_host))
            owner, room = owner_label(settings.state_dir), room_of(settings)
            clock = SteadyClock(known=await store.query(known_time))
            ids, live, changes = Ids(secrets.token_bytes), Live(), Changes()
            tenancy = tenancy_of(settings, store, clock=clock, boot=ids.nonce()[:16], park=live.park)
            stack.push_async_callback(await tenancy.begin())
            attempts = private_directory(settings.state_dir / "attempts")
            contexts = Contexts(store=store, max_policy=settings.max_policy)
            dispatch = Dispatch(
                store.engine, host_limit=settings.host.max_agents, agent_limit=settings.host.max_per_agent, room=room.let_in
            )
            lanes, replies = (
                Lanes(dispatch),
                Replies(store=store, changes=changes, clock=clock, ids=ids, max_policy=settings.max_policy),
            )
            endings = Endings(clock=clock, enqueue=lanes.enqueue, answered=replies.answered)
            effects = Effects(
                Parts(store=store, live=live, changes=changes, contexts=contexts, clock=clock, enqueue=lanes.enqueue)
            )
            around = Surroundings(
                store=store,
                engine=engine,
                upstream=upstream,
                live=live,
                changes=changes,
                contexts=contexts,
                endings=endings,
                clock=clock,
                ids=ids,
                attempts=attempts,
                owner=owner,
                runtime=settings.runtime,
                boot=tenancy.boot,
                budgets=budgets_of(settings),
            )
            pool = Pool(around=around, sizes=sizes_of(settings), room=lambda: room.short(others=False) is None)
            conductor = Conductor(around, pool=pool)
            notifier = make_notifier(settings.notify, store=store, clock=clock, entropy=secrets.token_bytes)
            service = SupervisorService(
                Backstage(
                    store=store,
                    engine=engine,
                    effects=effects,
                    agents=Agents(store=store, clock=clock, floors=floors_of(settings)),
                    grants=Grants(store=store, changes=changes, clock=clock, ids=ids, ceiling=settings.max_policy),
                    notices=notifier,
                    witness=Witness(store=store, clock=clock, who=approvers(settings)),
                    endings=endings,
                    live=live,
                    changes=changes,
                    clock=clock,
                    ids=ids,
                    enqueue=lanes.enqueue,
                    hindrance=dispatch.hindrance,
                    replies=replies,
                    pictures=Studio(engine=engine, owner=owner, boot=tenancy.boot, runtime=settings.runtime),
                    owner=owner,
                    model_kind=settings.model_kind,
                    state_dir=str(settings.state_dir),
                    per_hour=settings.ingress.per_hour,
                    share_seconds=settings.ingress.share_seconds,
                )
            )
            await furnish(store, settings.state_dir, public_url=settings.ingress.public_url, now=clock())
            await dispatch.open(conductor.conduct, tell=changes.tell)
            stack.push_async_callback(dispatch.close, drain_seconds=0)
            stack.push_async_callback(Drain(conductor=conductor, live=live, effects=effects).finish)
            former = await Recovery(
                store=store,
                engine=engine,
                effects=effects,
                endings=endings,
                owner=owner,
                attempts=attempts,
                clock=clock,
                enqueue=lanes.enqueue,
                prices=budgets_of(settings).prices,
            ).run()
            admission = Admission(
                credentials=Credentials(settings.approvers.keys, clock=clock, nonces=ids.nonce),
                signs=signs if settings.tripwires else None,
            )
            control = ControlServer(
                service, directory=socket_dir(settings), approvers=settings.approvers.uids, admission=admission
            )
            await control.start()
            stack.push_async_callback(control.stop)
            await dispatch.start()
            clockwork = Clockwork(
                store=store, engine=engine, effects=effects, clock=clock, enqueue=lanes.enqueue, also=service.due
            )
            for part in (
                pool,
                notifier,
                clockwork,
                StandingYes(store=store, effects=effects, changes=changes),
                Sweep(around=around, pool=pool, former=former),
            ):
                stack.push_async_callback(part.start())
            stack.push_async_callback(
                await open_ingress(
                    settings.ingress, service.reception, handing=service.handing, clock=clock, tally=service.tally
                )
            )
            ready()
            await until_signalled()


def upstream_of(settings: Settings) -> UpstreamFactory:
    """The model, with its key.

    Raises:
        SettingsError: The key cannot be read.
    """
    return make_upstream(settings.model, **settings.credentials(), patience=Patience(read=settings.model_timeout))


def tenancy_of(settings: Settings, store: Store, *, boot: str, clock: Callable[[], float], park: Callable[[], None]) -> Tenancy:
    """This process's lease on its database. Who loses it to another ends at once: whatever it still did would be done twice."""
    loop = asyncio.get_running_loop()

    def park_soon() -> None:
        loop.call_soon_threadsafe(park)

    return Tenancy(
        store=store,
        engine=partial(Engine, host=settings.docker_host, deadline=ASK_PATIENCE),
        owner=owner_label(settings.state_dir),
        boot=boot,
        seconds=settings.host.lease,
        clock=clock,
        over=lambda: os._exit(SupervisorUnavailableError.exit_code),
        park=park_soon,
    )


async def build_image(settings: Settings, *, base: str | None, progress: Callable[[str], None]) -> ImageInfo:
    """Build the sandbox image with the CLI of the installed SDK, and note how that describes its tools, unless it is there.

    Raises:
        SandboxError: It cannot be built; says why.
    """
    async with Engine(host=settings.docker_host) as engine:
        image = await images.build_image(engine, base=base, cli=bundled_cli(), progress=progress)
        if image.definitions:
            return image
        progress("noting how its CLI describes its tools")
        return await images.keep_definitions(engine, image, await definitions.record(engine, image, owner="image-build"))


async def show_image(settings: Settings) -> ImageInfo | None:
    """The sandbox image that runs would get; None when there is none."""
    async with Engine(host=settings.docker_host) as engine:
        return await images.image_info(engine)


async def examine(settings: Settings) -> tuple[Check, ...]:
    """Look at every prerequisite and live condition of a supervisor with these settings."""
    status = await asyncio.to_thread(_status, settings)
    outward = await asyncio.to_thread(lambda: (*price_checks(settings), *outward_checks(settings.ingress, status)))
    async with Engine(host=settings.docker_host, deadline=ASK_PATIENCE) as engine:
        return (*health.examine(await gather(settings, engine, owner=owner_label(settings.state_dir), status=status)), *outward)


def _status(settings: Settings) -> JsonObject | None:
    """What the supervisor that runs says of itself."""
    try:
        with Client(control_socket(settings), patience=ASK_PATIENCE) as client:
            return client.record("status")
    except RunnerError:
        return None


def owner_label(state_dir: Path) -> str:
    """Names a state directory's containers, and tells nothing else about it."""
    return hashlib.sha256(os.fsencode(state_dir.resolve())).hexdigest()[:16]


async def until_signalled() -> None:
    """Return at the first SIGTERM or SIGINT; from then on another one ends the process at once."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def heard() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, _stop_at_once)
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard)
    await told.wait()


def _stop_at_once(number: int, _frame: object) -> None:
    os._exit(128 + number)
