"""What a gateway knows of the conversation it carries: a CLI cannot tell its model later that something else was said.

Owns digests of what was forwarded and answered, from the transcript that a resumed CLI was handed on. It compares a request's
whole conversation with them: what is known has to stand at its beginning, then the last reply as far as the CLI was given it,
then results of its calls and nothing in the user's mouth but what the supervisor sends (design.md §2.4, case 109).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.gateway import spoken
from runner.gateway.spoken import Item, Spoken
from runner.gateway.voice import is_note
from runner.model import Json, JsonObject

_REWRITTEN = "it tells an earlier turn otherwise than it was"
_OTHERWISE = "the request it began with is not the one that was sent"
_IMPUTED = "it puts words into its model's mouth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of a user as the supervisor sends it, with the digests of its pictures; see `spoken.picture`."""

    text: str
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one conversation consists of, as the supervisor knows it.

    Args:
        prompts: Every request that it holds, in order; the last one is this run's, the others those of runs it continues.
        nudges: What the supervisor may say besides, any number of times.
        past: The transcript's lines that the CLI was resumed with.
        readers: Tools whose results may hold pictures and documents.
    """

    prompts: tuple[Asked, ...]
    nudges: frozenset[str] = frozenset()
    past: tuple[JsonObject, ...] = ()
    readers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a CLI was given of a reply: the model's words, then its calls; `whole`: to its end."""

    items: tuple[Item, ...]
    thinking: frozenset[str]
    whole: bool


@dataclass(slots=True)
class Memory:
    """One gateway's."""

    conversation: Conversation
    _known: Sequence[Item] = ()
    _thinking: set[str] = field(default_factory=set)
    _reply: tuple[Item, ...] = ()
    _whole: bool = False
    _nudges: frozenset[str] = frozenset()
    sent: frozenset[str] = field(init=False, default=frozenset())  #: all that the supervisor says as the user

    def __post_init__(self) -> None:
        """Begin with the past."""
        self._nudges = frozenset(map(spoken.asked, self.conversation.nudges))
        self.sent = self._nudges | {spoken.asked(prompt.text) for prompt in self.conversation.prompts}
        past = spoken.of_lines(self.conversation.past, self.sent)
        self._known, self._thinking = past.items, set(past.thinking)

    def spoken_in(self, messages: Json) -> Spoken:
        """What a re-built request's messages say."""
        return spoken.of_messages(messages, self.sent)

    def difference(self, told: Spoken) -> str | None:
        """What in a request's conversation is not as it was, in plain words; None when all is."""
        items, known = told.items, self._known
        if len(items) < len(known) or not all(spoken.alike(was, now) for was, now in zip(known, items, strict=False)):
            return _REWRITTEN
        if not told.thinking <= self._thinking:
            return _IMPUTED
        said, heard = _split(items[len(known) :])
        if not self._is_reply(said) or any(item.kind in {"word", "call"} for item in heard):
            return _IMPUTED
        return _results(items, heard, self.conversation.readers) or self._asked(items)

    def forwarded(self, told: Spoken) -> None:
        """Know a request from now on: the model sees it."""
        self._known, self._reply, self._whole = told.items, (), False

    def replied(self, reply: Given) -> None:
        """Know a reply as far as the CLI was given it; of one that was cut it may keep the beginning."""
        self._reply, self._whole = reply.items, reply.whole
        self._thinking |= reply.thinking

    def _is_reply(self, said: Sequence[Item]) -> bool:
        reply = self._reply
        if not all(spoken.alike(was, now) for was, now in zip(reply, said, strict=False)) or len(said) > len(reply):
            return False
        words = sum(item.kind == "word" for item in reply)
        return len(said) in {0, words, len(reply)} if self._whole else len(said) <= words

    def _asked(self, items: Sequence[Item]) -> str | None:
        """Whether the user says what the supervisor sends: every prompt once, in order, with its pictures, and nothing else."""
        left = [item for prompt in reversed(self.conversation.prompts) for item in reversed(_items_of(prompt))]
        for item in items:
            if item.kind not in {"asked", "picture"}:
                continue
            if left and spoken.alike(left[-1], item):
                left.pop()
            elif not self._is_extra(item):
                return _OTHERWISE
        return _OTHERWISE if left else None

    def _is_extra(self, item: Item) -> bool:
        return item.kind == "asked" and (item.parts[0] in self._nudges or is_note(item.parts[0]))


def _items_of(prompt: Asked) -> list[Item]:
    return [
        Item("asked", "", (spoken.asked(prompt.text),)),
        *(Item("picture", "", (digest,)) for digest in prompt.pictures),
    ]


def _split(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """What the model says at the beginning, and the rest."""
    end = next((at for at, item in enumerate(items) if item.kind not in {"word", "call"}), len(items))
    return items[:end], items[end:]


def _results(items: Sequence[Item], heard: Sequence[Item], readers: frozenset[str]) -> str | None:
    """Whether every new result is the only one of a call that was made, and holds bytes only where a tool gives them."""
    calls = {item.id: item.parts[0] for item in items if item.kind == "call"}
    answered = Counter(item.id for item in items if item.kind == "result")
    for item in heard:
        if item.kind != "result":
            continue
        if item.id not in calls or answered[item.id] > 1:
            return "it tells a result of a call that was not made, or one more than once"
        if calls[item.id] not in readers and any(part.startswith(spoken.MEDIA) for part in item.parts):
            return "it tells of a picture or a document in a result that can have none"
    return None
