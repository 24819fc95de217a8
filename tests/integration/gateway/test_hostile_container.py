"""A hostile container at its own gateway, with requests that are as they should be but for what they cost (M6, M11)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from runner.gateway import Gateway, GatewayLimits, Purse, Reference, Residents, TurnDesk
from runner.model import JsonObject
from runner.sandbox.box import Box
from runner.sandbox.engine import Engine, ImageInfo
from runner.sandbox.launch import launch
from runner.store import Connection, runs, spending
from runner.store.spending import Scope
from runner.supervisor.ids import Ids
from runner.supervisor.purse import Budgets, RunPurse
from runner.supervisor.quota import MAX_UNFINISHED
from tests.helpers.builders import a_profile
from tests.helpers.burden import MIB, MOST_STALLED, baseline, watched
from tests.helpers.desk import AtDesk, at_desk
from tests.helpers.gateway import MODEL, OFFERED, Desk, MemoryUpstream, a_gateway, a_request, ask
from tests.helpers.sandbox_fixtures import an_order
from tests.helpers.stored import NOW
from tests.helpers.upstream import reply_events, text

pytestmark = pytest.mark.docker

WORDS = 200_000
#: Sends one request, and waits for its answer or goes away before it.
CLIENT = r"""
use IO::Socket::UNIX; use Time::HiRes "sleep"; $| = 1; $SIG{PIPE} = "IGNORE";
sub door { IO::Socket::UNIX->new(Peer => "/run/gateway/api.sock") }
sub whole { my ($target, $body) = @_; "POST $target HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    . "Content-Length: " . length($body) . "\r\n\r\n" . $body }
sub say_to { my ($s, $data) = @_; my $at = 0;
    while ($at < length $data) { my $n = syswrite($s, $data, 1 << 16, $at) or return; $at += $n } }
sub heard { my $s = shift; my $all = ""; 1 while sysread($s, $all, 1 << 16, length $all);
    length $all ? substr($all, 9, 3) : "cut" }
sub message { my ($role, $content) = @_; qq({"role":"$role","content":$content}) }
sub messages { qq({"model":"MODEL","max_tokens":100,"stream":true,"messages":[) . join(",", @_) . "]}" }
my ($ask, $count) = ("/v1/messages?beta=true", "/v1/messages/count_tokens?beta=true");
"""
HANG_UP = r"""
my $body = whole($ask, messages(message("user", '"' . ("x" x WORDS) . '"')));
for (1 .. 28) {
  my $s = door() or do { print "no\n"; last };
  say_to($s, $body); sleep 0.1; close $s; sleep 0.03;
}
print "over\n";
"""
HEAVY = r"""
my $mib = 1 << 20;
my @heavy = (
  message("user", '[{"type":"tool_result","tool_use_id":"t","content":"<' . (" " x (8 * $mib)) . '"}]'),
  message("user", '[{"type":"tool_result","tool_use_id":"t","content":"' . ("<s" x (3 * $mib)) . '"}]'),
  message("user", '"' . ('\\\\n' x (2 * $mib)) . "\x{f0}\x{9f}\x{98}\x{80}" . '"'),
  message("assistant", "[" . join(",", map { qq({"type":"tool_use","id":"c$_","name":"Read","input":{}}) } 1 .. 20_000) . "]"),
  join(",", map { my $m = $_; my @all = map { qq({"type":"tool_result","tool_use_id":"$m-$_"}) } 1 .. 10_000;
    message("user", "[" . join(",", @all) . "]") } 1 .. 4),
);
for my $heavy (@heavy) { my $s = door(); say_to($s, whole($ask, messages($heavy))); print heard($s), "\n" }
my @children = map { my $n = $_; my $child = fork(); unless ($child) {
  my $text = message("user", '"' . ("x" x (8 * $mib)) . '"');
  my $one = qq({"model":"MODEL","messages":[$text],"tools":[]});
  my $s = door(); say_to($s, $n % 2 ? whole($count, $one) : whole($ask, messages($text)));
  print heard($s), "\n"; exit } $child } 1 .. 7;
wait() for @children;
print "over\n";
"""


class Forgetful(MemoryUpstream):
    """Keeps none of what it is asked."""

    @asynccontextmanager
    async def send(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> AsyncIterator[AsyncIterator[JsonObject]]:
        del request
        async with super().send({}, betas=betas) as events:
            yield events

    async def count_tokens(self, request: JsonObject, *, betas: tuple[str, ...] = ()) -> int:
        del request
        return await super().count_tokens({}, betas=betas)


@asynccontextmanager
async def hostile(
    folder: Path,
    engine: Engine,
    image: ImageInfo,
    script: str,
    *,
    desk: TurnDesk,
    upstream: MemoryUpstream,
    purse: Purse | None = None,
) -> AsyncIterator[tuple[Gateway, Box]]:
    """A script in a container of its own, at a gateway of its own."""
    residents = Residents()
    gateway = Gateway(
        directory=folder / "gateway",
        desk=desk,
        reference=Reference(model=MODEL, offered=OFFERED),
        upstream=upstream,
        purse=purse,
        peers=residents,
        limits=GatewayLimits(burst=200),
    )
    program = f"use strict; {CLIENT}{script}".replace("MODEL", MODEL).replace("WORDS", str(WORDS))
    order = an_order(folder, image, "perl", "-e", f"<STDIN>; {program}")
    await gateway.start()
    box = await launch(engine, order, on_created=_nothing)
    try:
        residents.are_of(box.container_id)
        await box.send(b"go\n")
        yield gateway, box
    finally:
        await box.destroy()
        await gateway.stop()


async def _nothing(_container: str) -> None:
    """Nothing is bound to it."""


async def said(box: Box) -> list[str]:
    """What the script prints to its end."""
    data = b""
    while not data.endswith(b"over\n"):
        chunk = await asyncio.wait_for(box.receive(), 240)
        assert chunk is not None, data
        data += chunk.data
    return data.decode().split()


def test_a_container_that_hangs_up_again_and_again_pays_each_time_and_is_stopped(
    engine: Engine, sandbox_image: ImageInfo, tmp_path: Path
) -> None:
    """M11, with the desk and the books of a run: no request of its is free, and none comes after the twentieth."""
    upstream = MemoryUpstream([asyncio.Event()])

    async def scene(at: AtDesk) -> tuple[list[str], str]:
        row = await at.store.query(runs.get, at.attempt.run)
        books = RunPurse(at.store, row, at.profile, budgets=Budgets(), clock=lambda: NOW, ids=Ids(secrets.token_bytes))
        async with hostile(tmp_path, engine, sandbox_image, HANG_UP, desk=at.desk, upstream=upstream, purse=books) as (_, box):
            heard = await said(box)
        return heard, at.desk.doom

    profile = a_profile()
    rich = replace(profile, limits=replace(profile.limits, budget_tokens=10**9, budget_usd=10**6))
    with at_desk(tmp_path, rich) as at:
        heard, doom = asyncio.run(scene(at))
        with at.store.reading() as conn:
            used, left = _books(conn, at)
    assert heard[-1] == "over"
    assert "begun and not heard to their end" in doom
    # One that hangs up before it is sent on is counted too, and given back.
    assert (0 < len(upstream.requests) <= MAX_UNFINISHED, left) == (True, 0)
    assert used >= len(upstream.requests) * WORDS


def _books(conn: Connection, at: AtDesk) -> tuple[int, int]:
    return spending.used(conn, Scope(kind="run", name=at.attempt.run)).tokens, len(spending.left(conn))


def test_heavy_requests_of_one_container_leave_loop_memory_and_the_next_run_as_they_are(
    engine: Engine, sandbox_image: ImageInfo, tmp_path: Path
) -> None:
    """M6: one after another and seven at once, in both operations; what they cost is a multiple of one, in one place."""
    largest, neighbour = 8 * MIB, tmp_path / "neighbour"
    neighbour.mkdir()
    answered: Callable[[str], bool] = {"200", "400"}.__contains__

    async def main() -> tuple[list[str], int, float, int, int]:
        upstream, desk, served = Forgetful(reply_events(text("fine"))), Desk(), 0

        async def honest() -> None:
            nonlocal served
            while True:
                assert (await ask(neighbour, a_request())).status == 200
                served += 1
                await asyncio.sleep(0.05)

        limits = GatewayLimits(burst=10**6)
        async with (
            a_gateway(neighbour, MemoryUpstream(reply_events(text("fine"))), limits=limits),
            hostile(tmp_path, engine, sandbox_image, HEAVY, desk=desk, upstream=upstream) as (gateway, box),
            watched() as burden,
        ):
            beside = asyncio.ensure_future(honest())
            heard = await said(box)
            beside.cancel()
            return heard, served, burden.stall, burden.grown, gateway.refused

    most = MOST_STALLED * baseline()
    heard, served, stall, grown, refused = asyncio.run(main())
    assert (len(heard), all(answered(status) for status in heard[:-1]), refused) == (13, True, 0), heard
    assert served > len(heard)
    assert stall < most
    assert grown < 64 * MIB + 12 * largest
