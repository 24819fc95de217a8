"""The one place where a terminal is drawn on in full: it places lines, passes keys on and carries wants out.

Owns Textual. No text reaches a widget but lines that `runner.render` made; nothing here knows markup or decides.
"""

from __future__ import annotations

import asyncio
import sys
import termios
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from runner.cli.inbox.editing import edit_input
from runner.cli.inbox.frame import frame
from runner.cli.inbox.office import Followed, Office
from runner.cli.inbox.state import Inbox, Want
from runner.errors import RunnerError
from runner.model import JsonObject
from runner.render import Line

if TYPE_CHECKING:
    from textual import events


class Surface(Widget, inherit_bindings=False):
    """The whole screen: one line of ours per line of the terminal."""

    DEFAULT_CSS = "Surface { width: 100%; height: 100%; background: ansi_default; color: ansi_default; }"

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.shown: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        """Draw these, where they are others than before."""
        if lines != self.shown:
            self.shown = lines
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen, as wide as it."""
        segments = list(self.shown[y].render(self.app.console, end="")) if y < len(self.shown) else []
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style)


class Plain(Screen[None], inherit_bindings=False):
    """A screen without keys of its own."""

    DEFAULT_CSS = "Plain { background: ansi_default; color: ansi_default; }"


class InboxApp(App[None], inherit_bindings=False):
    """Drives an `Inbox` and an `Office`.

    Args:
        office: The supervisor.
        clock: Seconds for keys and arming.
        today: The time, for ages.
    """

    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False

    def __init__(
        self,
        office: Office,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(ansi_color=True)
        self.today = today
        self.office = office
        self.clock = clock
        self.inbox = Inbox((80, 24))
        self.surface = Surface()
        self.broken: BaseException | None = None
        self._reported: set[tuple[str, str]] = set()
        self._working: asyncio.Task[None] | None = None

    def get_default_screen(self) -> Screen[None]:
        """One without keys of its own."""
        return Plain()

    def compose(self) -> ComposeResult:
        """The one surface."""
        yield self.surface

    def on_mount(self) -> None:
        """Read the list, and follow the log from then on."""
        self.inbox.resize((self.size.width, self.size.height), now=self.clock())
        loop = asyncio.get_running_loop()

        def heard(found: Followed) -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it whoever would have listened
                loop.call_soon_threadsafe(self._heard, found)

        self.office.mark()
        self._list(first=True)
        self.office.follow(heard)
        self._go()

    def on_unmount(self) -> None:
        """Stop following."""
        self.office.stop()

    def on_resize(self, event: events.Resize) -> None:
        """Another size."""
        self.inbox.resize((event.size.width, event.size.height), now=self.clock())
        self._go()

    def on_key(self, event: events.Key) -> None:
        """A key, by the time at which it was pressed."""
        event.stop()
        event.prevent_default()
        self.inbox.press(event.key, event.character, at=event.time)
        self._go()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is no key."""
        event.stop()
        self.inbox.paste(event.text)
        self._go()

    def _list(self, *, first: bool) -> None:
        for source in self.office.sources:
            try:
                self.inbox.listed(source, source.list(self.office.client), first=first)
            except RunnerError as error:
                self.inbox.say(error.brief, trouble=True)

    def _heard(self, found: Followed) -> None:
        """What happened elsewhere: known entries are looked at again, new ones listed."""
        if found.trouble:
            self.inbox.say(found.trouble, trouble=True)
        if found.news:
            self.inbox.wants.append(Want(what="list"))
        for id in found.changed:
            if id in self.inbox.book:
                self.inbox.wants.append(Want(what="look", entry=self.inbox.book[id]))
        self._go()

    def _go(self) -> None:
        self._draw()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
            self._working.add_done_callback(self._worked)

    def _draw(self) -> None:
        self.surface.show(frame(self.inbox))

    async def _work(self) -> None:
        """Carry wants out one after another; of several looks at one entry, and lists, only the last."""
        await self._report()
        while self.inbox.wants:
            want = self.inbox.wants.pop(0)
            again = any(other.what == want.what and other.entry == want.entry for other in self.inbox.wants)
            if not (again and want.what in {"look", "list"}):
                await self._carry_out(want)
            self._draw()
            await self._report()

    async def _report(self) -> None:
        """What was on the screen to its end is put on record, once for each card."""
        card = self.inbox.card
        if card is None or not card.reading.whole or card.planned is not None or card.key in self._reported:
            return
        self._reported.add(card.key)
        await asyncio.to_thread(self.office.shown, card.record, card.parts())

    def _worked(self, task: asyncio.Task[None]) -> None:
        """A mistake of ours ends the inbox, and is told without Textual's or asyncio's traceback."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.broken = error
            self.exit()

    async def _carry_out(self, want: Want) -> None:
        if want.what == "leave":
            self.exit()
            return
        if want.what == "list":
            self._list(first=False)
            return
        try:
            if want.what == "edit":
                await self._edit(want)
                return
            record = await asyncio.to_thread(self.office.carry_out, want)
        except RunnerError as error:
            self.inbox.failed(want, error)
            return
        self._came(want, record)

    def _came(self, want: Want, record: JsonObject) -> None:
        now, clock = self.clock(), self.today()
        if want.what == "look" and want.entry is not None:
            self.inbox.looked(want.entry.id, record, now=now, clock=clock)
        elif want.what == "plan":
            self.inbox.planned(want, record, now=now, clock=clock)
        elif want.what == "do":
            self.inbox.done(want, record)

    async def _edit(self, want: Want) -> None:
        with self.suspend():
            text = edit_input(want.record or {})
        if text is None:
            self.inbox.busy = False
            self.inbox.say("nothing was edited", trouble=False)
            return
        record = await asyncio.to_thread(self.office.carry_out, replace(want, text=text))
        self.inbox.edited(want, record, now=self.clock(), clock=self.today())

    def _fatal_error(self) -> None:
        """End without Textual's own traceback, which shows what variables hold."""
        self.broken = self._exception
        self._close_messages_no_wait()


def run(office: Office) -> None:
    """Open the inbox on this terminal until it is left.

    Raises:
        RunnerError: Something in it broke; nothing was decided by that.
    """
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    app = InboxApp(office)
    app.run(mouse=False)
    if app.broken is not None:
        lines = traceback.format_exception(app.broken)
        raise RunnerError(f"cannot go on with the inbox: {type(app.broken).__name__}", details="".join(lines)) from app.broken
