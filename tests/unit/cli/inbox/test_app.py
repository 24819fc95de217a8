"""The inbox as Textual runs it: over a real socket, keys in, what the supervisor was asked out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from runner.api.client import Client
from runner.cli.inbox.app import InboxApp
from runner.cli.inbox.frame import frame
from runner.cli.inbox.office import Office
from runner.errors import AlreadyDecidedError
from runner.model import JsonObject
from tests.helpers.fake_service import APPROVAL, CAPTURE, DIGEST, RUN, FakeService, an_event
from tests.unit.cli.conftest import Ran

Scene = Callable[[InboxApp, Pilot[None]], Awaitable[None]]


@contextmanager
def a_client(shared: tuple[FakeService, Path]) -> Iterator[tuple[Client, Callable[[], Client]]]:
    def connect() -> Client:
        return Client(shared[1] / "control.sock")

    with connect() as client:
        yield client, connect


def play(shared: tuple[FakeService, Path], scene: Scene, *, size: tuple[int, int] = (80, 50)) -> None:
    """Run an inbox without a terminal, and a scene in it."""

    async def whole() -> None:
        with a_client(shared) as (client, connect):
            app = InboxApp(Office(client, connect))
            async with app.run_test(size=size) as pilot:
                await until(lambda: app.inbox.card is not None, "the first card")
                await scene(app, pilot)
                app.exit()

    asyncio.run(whole())


async def until(look: Callable[[], object], what: str) -> None:
    for _ in range(400):
        if look():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{what} never came")


def text(app: InboxApp) -> str:
    return "\n".join(line.plain for line in app.surface.shown)


async def armed(app: InboxApp) -> None:
    await until(lambda: app.inbox.card is not None and not app.inbox.card.reading.too_early(app.clock()), "the keys are armed")


def test_a_call_is_read_and_approved_with_its_digest(service: FakeService, shared: tuple[FakeService, Path]) -> None:
    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        await armed(app)
        await pilot.press("a")
        await armed(app)
        await pilot.press("y")
        await until(lambda: service.decisions, "the decision")
        await until(lambda: "approved: Write" in text(app), "its message")

    play(shared, scene)
    assert [found[0] for name, found in service.asked if name == "approve"] == [DIGEST]  # type: ignore[index]


def test_keys_that_come_too_early_are_dropped_by_the_time_they_were_pressed(
    service: FakeService, shared: tuple[FakeService, Path]
) -> None:
    """V7."""

    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        await pilot.press("y", "enter", "a")
        assert app.inbox.prompt is None
        assert "nothing was decided" in text(app)

    play(shared, scene)
    assert service.decisions == []


def test_what_changes_elsewhere_appears_by_itself(service: FakeService, shared: tuple[FakeService, Path]) -> None:
    """C5: another channel was first; this one shows it in place."""

    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        service.approval_row = service.approval_row | {"state": "denied"}
        service.event_rows.append(an_event(9, "approval.deny", "anna") | {"subject": APPROVAL})
        await until(lambda: "it is denied now" in text(app), "the news")
        assert "denied" in app.surface.shown[1].plain

    play(shared, scene)


def test_an_arrival_is_added_at_the_end(service: FakeService, shared: tuple[FakeService, Path]) -> None:
    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        newer = service.approval_row | {"id": "a_9999999999999999"}

        async def both(**_: Any) -> JsonObject:
            return {"snapshot": "s", "approvals": [newer, service.approval_row], "total": 2}

        service.approvals = both  # type: ignore[method-assign]
        service.event_rows.append(an_event(9, "approval.request", "supervisor") | {"subject": "a_9999999999999999"})
        await until(lambda: "1 new below" in text(app), "the arrival")
        assert [entry.id for entry in app.inbox.book.shown] == [APPROVAL, "a_9999999999999999"]

    play(shared, scene)


def test_captures_and_spent_budgets_stand_on_the_same_list(service: FakeService, shared: tuple[FakeService, Path]) -> None:
    """Issue 6 point 3: everything of `runner todo`, each with its own acts; a stranger's words are not on its card."""
    stub: JsonObject = {
        "id": CAPTURE,
        "agent": "scribe",
        "sender": "bob",
        "state": "stub",
        "created": 1.0,
        "content": {"images": []},
    }
    service.captures.rows = [stub]
    service.spending.waiting = [{"run": RUN, "agent": "scribe", "sender": "owner", "says": "0.1 usd are spent", "created": 2.0}]

    async def find(ref: str) -> JsonObject:
        return stub

    service.find = find  # type: ignore[method-assign]

    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        assert [entry.id for entry in app.inbox.book.shown] == [APPROVAL, CAPTURE, RUN]
        await pilot.press("down")
        await until(lambda: app.inbox.card is not None and app.inbox.card.id == CAPTURE, "the capture")
        await armed(app)
        assert "a let in  d dismiss" in text(app)
        await pilot.press("a")
        await armed(app)
        await pilot.press("y")
        await until(lambda: ("accept", CAPTURE) in service.asked, "the word")
        await until(lambda: app.inbox.card is not None and app.inbox.card.id == RUN, "the next entry")
        await armed(app)
        assert "Raise the budget or stop: 0.1 usd are spent" in text(app)
        await pilot.press("m", "2", "enter")
        await until(lambda: [one for one in service.asked if one[0] == "raise"], "the money")

    play(shared, scene)
    assert [found[:3] for name, found in service.asked if name == "raise"] == [(RUN, 0, 2.0)]  # type: ignore[index]


def test_who_was_first_is_told_to_who_comes_second(service: FakeService, shared: tuple[FakeService, Path]) -> None:
    """C5, L1."""

    async def late(*_: Any, **__: Any) -> JsonObject:
        raise AlreadyDecidedError("cannot approve: already denied by anna at 12:00")

    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        service.deny = late  # type: ignore[method-assign]
        await armed(app)
        await pilot.press("d")
        await pilot.press("enter")
        await until(lambda: "already denied by anna" in text(app), "the refusal")

    play(shared, scene)


@pytest.mark.parametrize("size", [(80, 24), (60, 24), (200, 60), (40, 12), (20, 5)])
def test_what_is_drawn_is_what_the_frame_says_at_every_size(
    size: tuple[int, int], service: FakeService, shared: tuple[FakeService, Path]
) -> None:
    """V4: no line is wider than the screen, and none is missing."""

    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        lines = frame(app.inbox)
        assert len(lines) == size[1]
        for y, line in enumerate(lines):
            assert line.cell_len <= size[0]
            assert app.surface.render_line(y).text == line.plain.ljust(size[0])

    play(shared, scene, size=size)


def test_a_new_size_folds_the_card_anew(service: FakeService, shared: tuple[FakeService, Path]) -> None:
    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(60, 20)
        await until(lambda: app.inbox.size == (60, 20) and len(app.surface.shown) == 20, "the new size")

    play(shared, scene)


def test_an_edit_is_planned_shown_and_approved_with_its_own_digest(
    service: FakeService, shared: tuple[FakeService, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """D2: what the editor leaves is seen before it is approved."""
    monkeypatch.setattr("runner.cli.inbox.app.edit_input", lambda record: '{"file_path": "b", "content": "c"}')
    monkeypatch.setattr(InboxApp, "suspend", lambda self: nothing())
    asked: list[tuple[str, JsonObject]] = []

    def post(self: Client, *segments: str, body: JsonObject) -> JsonObject:
        asked.append((segments[-1], body))
        return service.approval_row | {"digest": "sha256:" + "7" * 64, "edited_by": "uid 0"}

    monkeypatch.setattr(Client, "post", post)

    async def scene(app: InboxApp, pilot: Pilot[None]) -> None:
        await armed(app)
        await pilot.press("e")
        await until(lambda: "edited; nothing is approved yet" in text(app), "the edited card")
        await armed(app)
        await pilot.press("a")
        await armed(app)
        await pilot.press("y")
        await until(lambda: any(verb == "approve" for verb, _ in asked), "the decision")

    play(shared, scene)
    edited = '{"file_path": "b", "content": "c"}'
    assert [one for one in asked if one[0] != "shown"] == [
        ("edit", {"input": edited}),
        ("approve", {"digest": "sha256:" + "7" * 64, "input": edited}),
    ]


@contextmanager
def nothing() -> Iterator[None]:
    yield


def test_it_refuses_where_nobody_can_see_and_type(run: Callable[..., Ran], service: FakeService) -> None:
    ran = run("inbox")
    assert (ran.code, ran.out) == (2, "")
    assert "stdin, stdout and stderr must be a terminal" in ran.err
