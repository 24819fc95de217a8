"""What the inbox shows and what a key means, without a terminal and without a connection: keys in, wants out (V4, V5, V7).

Owns the rule that a key acts on the card that was on the screen when it was pressed, and on no other. It decides nothing by
itself and asks nobody: whoever drives it carries its wants out and tells it what came of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.cli.inbox import keys
from runner.cli.inbox.book import Book
from runner.cli.inbox.card import Card
from runner.cli.inbox.entries import Act, Ask, Entry, Source
from runner.cli.inbox.frame import MIN_HEIGHT, MIN_WIDTH, help_parts, room_for_card
from runner.cli.inbox.friction import Friction, friction_of
from runner.cli.inbox.prompts import Answer, Prompt
from runner.errors import RunnerError
from runner.model import JsonObject
from runner.render import show_inline
from runner.render.values import text_at

#: A target longer than this is not typed; the beginning of the id stands for it.
_TYPEABLE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Something to be done outside: `look` at an entry, `list` everything, `plan`, `do` or `edit` an act, `leave`."""

    what: str
    entry: Entry | None = None
    act: Act | None = None
    record: JsonObject | None = None
    text: str = ""


class Inbox:
    """The state of one open inbox.

    Args:
        size: Columns and lines of the screen.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.book = Book()
        self.card: Card | None = None
        self.prompt: Prompt | None = None
        self.message = ""
        self.trouble = False
        self.busy = False
        self.help = 0  #: the part of the help that is on the screen; 0: none
        self.wants: list[Want] = []

    @property
    def fits(self) -> bool:
        """Whether the screen is large enough to decide on."""
        return self.size[0] >= MIN_WIDTH and self.size[1] >= MIN_HEIGHT

    @property
    def acts(self) -> Sequence[Act]:
        """What can be done with the card on the screen."""
        entry = self._entry()
        if entry is None or self.card is None or self.card.planned is not None:
            return ()
        return entry.source.acts(self.card.record)

    def resize(self, size: tuple[int, int], *, now: float) -> None:
        """The window has another size: the card is folded anew and read anew."""
        self.size = size
        if self.card is not None:
            self.card = self.card.folded((size[0], self._room()), now=now)
        if self.prompt is not None and not self.fits:
            self.prompt = None

    def listed(self, source: Source, lines: Sequence[JsonObject], *, first: bool) -> None:
        """Everything of one kind that needs a person."""
        self.book.take((Entry(source=source, id=text_at(line, "id"), line=line) for line in lines), first=first)
        self._look_at_selected()

    def looked(self, id: str, record: JsonObject, *, now: float, clock: datetime) -> None:
        """An entry as it is. Where it is the one on the screen and another than it was, it has to be read anew."""
        self.book.renew(id, record)
        if id != self.book.selected or (self.card is not None and self.card.same(record)):
            return
        shown = self.card if self.card is not None and self.card.id == id else None
        self.card = self._drawn(record, now=now, clock=clock)
        self.book.looked_at(id)
        if shown is not None:
            self.prompt = None
            waited = bool(shown.record.get("state") in {"pending", "unknown"})
            self.say(f"this changed while it was shown: it is {text_at(record, 'state')} now", trouble=waited)

    def planned(self, want: Want, plan: JsonObject, *, now: float, clock: datetime) -> None:
        """What an act would change; it is confirmed once it has been read."""
        self.busy = False
        if want.act is None or want.record is None or self.card is None or not self.card.same(want.record):
            return
        self.card = self._drawn(want.record, now=now, clock=clock, planned=plan)
        self.prompt = _question(want.act, want.record)

    def edited(self, want: Want, record: JsonObject, *, now: float, clock: datetime) -> None:
        """A call with another input: it is looked at like a new one."""
        self.busy = False
        if want.record is None or text_at(want.record, "id") != self.book.selected:
            return
        basis = self.card.basis if self.card is not None and self.card.record is want.record else want.record
        self.card = self._drawn(record, now=now, clock=clock).about(basis)
        self.say("edited; nothing is approved yet: read what would be done now", trouble=False)

    def done(self, want: Want, record: JsonObject) -> None:
        """An act was carried out; the record is what the supervisor says of it now."""
        self.busy = False
        if want.act is None or want.record is None:
            return
        id, state = text_at(want.record, "id"), text_at(record, "state")
        if text_at(record, "id") == id:
            self.book.renew(id, record)
        what = text_at(want.record, "does") or id
        self.say(f"{want.act.said}: {what}" + (f" ({state})" if state != want.act.said else ""), trouble=False)
        if want.act.ends:
            self.book.next_waiting()
        self.card = None
        self._look_at_selected()

    def failed(self, want: Want, error: RunnerError) -> None:
        """Something was refused or could not be done; nothing of it happened, and the entry is looked at again."""
        self.busy = False
        hint = f" ({error.resolution})" if error.resolution else ""
        self.say(f"{error.brief}{hint}", trouble=True)
        if want.what in {"do", "plan", "edit"} and want.entry is not None:
            self.card = None
            self._want(Want(what="look", entry=want.entry))

    def say(self, message: str, *, trouble: bool) -> None:
        """A line under the card."""
        self.message, self.trouble = message, trouble

    def press(self, key: str, character: str | None, *, at: float) -> None:
        """A key, and when it was pressed."""
        if key in keys.QUIT.keys[1:] or (key == "q" and not self._types and not self.help):
            self._want(Want(what="leave"))
        elif self.help or not self.fits:
            goes_on = bool(self.help) and key in keys.ON.keys and self.help < len(help_parts(self.size))
            self.help = self.help + 1 if goes_on else 0
        elif self.prompt is not None:
            self._answer(self.prompt, key, character, at=at)
        else:
            self._command(key, at=at)

    def paste(self, text: str) -> None:
        """Pasted text: words for a line that is free, never a command and never an answer."""
        if self.prompt is not None:
            self.prompt = self.prompt.pasted(text)
            self._filter_as_typed()

    @property
    def _types(self) -> bool:
        return self.prompt is not None and self.prompt.takes_text

    def _command(self, key: str, *, at: float) -> None:
        self.message = ""
        if key in keys.UP.keys or key in keys.DOWN.keys:
            self.book.move(-1 if key in keys.UP.keys else 1)
            self._look_at_selected()
        elif key in keys.ON.keys or key in keys.BACK.keys:
            self._turn(key)
        elif key in keys.FILTER.keys:
            self.prompt = Prompt(words="show only what holds:", free=True, typed=self.book.filter)
        elif key == "escape":
            self._refilter("")
        elif key in keys.CLEAR.keys:
            self.book.clear()
        elif key in keys.AGAIN.keys:
            self.card = None
            self._want(Want(what="list"))
            self._look_at_selected()
        elif key in keys.HELP.keys:
            self.help = 1
        else:
            self._act(key, at=at)

    def _act(self, key: str, *, at: float) -> None:
        act = next((one for one in self.acts if one.key == key), None)
        card, entry = self.card, self._entry()
        if act is None or card is None or entry is None:
            return
        if refusal := self._why_not(act, card, at=at):
            self.say(refusal, trouble=True)
            return
        if act.plan is not None:
            self._begin(Want(what="plan", entry=entry, act=act, record=card.record))
        elif act.ask is Ask.EDITOR:
            self._begin(Want(what="edit", entry=entry, act=act, record=card.record))
        elif act.ask is Ask.YES and friction_of(card.record) is Friction.KEY:
            self._begin(Want(what="do", entry=entry, act=act, record=card.record))
        else:
            self.prompt = _question(act, card.record)
            card.reading.ask_again(now=at)

    def _why_not(self, act: Act, card: Card, *, at: float) -> str:
        if self.busy:
            return "one thing at a time: the last one is still under way"
        if card.reading.too_early(at):
            return f"nothing was decided: {act.key} came before this could be read; press it again"
        if act.whole and not card.reading.whole:
            return f"read it to the end first: this is part {card.reading.part} of {card.reading.parts}, space shows the next"
        return ""

    def _answer(self, prompt: Prompt, key: str, character: str | None, *, at: float) -> None:
        card = self.card
        if prompt.act is not None and (card is None or self._scrolled(prompt, key)):
            return
        early = card is not None and prompt.act is not None and card.reading.too_early(at)
        if early and not prompt.takes_text and key != "escape":
            self.say("nothing was decided: that key came before the question could be read", trouble=True)
            return
        self.prompt, answer = prompt.press(key, character)
        if prompt.act is None:
            self._filter_as_typed()
            if answer is Answer.NO:
                self._refilter("")
        if answer is not Answer.OPEN:
            self.prompt = None
            self._answered(prompt, answer, card)

    def _answered(self, prompt: Prompt, answer: Answer, card: Card | None) -> None:
        if prompt.act is None or card is None:
            return
        if answer is Answer.NO or (prompt.act.whole and not card.reading.whole):
            self.say("nothing was decided" if answer is Answer.NO else "read it to the end first", trouble=answer is Answer.YES)
            if card.planned is not None:
                self.card = None
                self._look_at_selected()
            return
        self._begin(Want(what="do", entry=self._entry(), act=prompt.act, record=prompt.record, text=prompt.typed))

    def _scrolled(self, prompt: Prompt, key: str) -> bool:
        """While a yes is asked for, the card can still be read."""
        if prompt.takes_text or key not in (*keys.ON.keys, *keys.BACK.keys):
            return False
        self._turn(key)
        return True

    def _turn(self, key: str) -> None:
        if self.card is not None:
            self.card.reading.turn(1 if key in keys.ON.keys else -1)

    def _filter_as_typed(self) -> None:
        if self.prompt is not None and self.prompt.act is None:
            self._refilter(self.prompt.typed)

    def _refilter(self, text: str) -> None:
        self.book.refilter(text)
        self._look_at_selected()

    def _begin(self, want: Want) -> None:
        self.busy = True
        self._want(want)

    def _look_at_selected(self) -> None:
        entry = self._entry()
        if entry is None:
            self.card = None
        elif self.card is None or self.card.id != entry.id:
            self.card = None
            self._want(Want(what="look", entry=entry))

    def _entry(self) -> Entry | None:
        selected = self.book.selected
        return self.book[selected] if selected is not None and selected in self.book else None

    def _drawn(self, record: JsonObject, *, now: float, clock: datetime, planned: JsonObject | None = None) -> Card:
        source = self.book[text_at(record, "id")].source
        return Card.of(record, source.draw, size=(self.size[0], self._room()), now=now, clock=clock, planned=planned)

    def _room(self) -> int:
        return room_for_card(self.size)

    def _want(self, want: Want) -> None:
        self.wants.append(want)


def _question(act: Act, record: JsonObject) -> Prompt:
    """The question before an act."""
    id = text_at(record, "id")
    if act.ask is Ask.LINE:
        return Prompt(words=f"{act.question} Enter sends it, Esc leaves it", act=act, record=record, free=True)
    if act.ask is Ask.YES and friction_of(record) is Friction.TYPE:
        target = show_inline(text_at(record, "target"))
        expected = target if target.isascii() and 0 < len(target) <= _TYPEABLE else id[:8]
        return Prompt(words=f"to {act.word}, type {expected} and Enter:", act=act, record=record, expected=expected)
    about = text_at(record, "does")
    return Prompt(words=f"{act.word} {id}? y does it, any other key leaves it", about=about, act=act, record=record)
