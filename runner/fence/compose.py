"""The prompt of a capture: the owner's request outside, everything else inside the one block (R1-R15, S1-S4). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runner.fence.bounds import FIELDS, cut_raw
from runner.fence.escape import visible
from runner.fence.names import sender_label
from runner.fence.parse import Block, parse
from runner.fence.rules import AFTER_BLOCK, system_rule
from runner.fence.untrusted import Fenced, FenceError, Untrusted
from runner.fence.wrap import Field, Wrapped, prove, wrap
from runner.model import OWNER, Capture, Image, Sender, SenderKind

_NO_REQUEST = "The owner sent the capture below without a request of their own: say what it is and what could be done with it."
_NOT_OWNER = "The capture below was sent by somebody else, not by your owner. Answer it as your instructions allow."


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """The owner hands on a contact's capture: their own note, and the hops it took, the owner last (S4)."""

    note: str = ""
    hops: tuple[Sender, ...] = (OWNER,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the model is given. `text` is `parts` with an empty line between: request, block, reminder."""

    text: Fenced
    system_rule: str
    images: tuple[Image, ...]
    counts: Mapping[str, int]
    parts: tuple[str, str, str]
    nonce: str


def compose(  # noqa: PLR0913 - all that a prompt is made of
    capture: Capture,
    sender: Sender,
    *,
    nonce: str | None = None,
    draw: Callable[[], str] | None = None,
    forwarded: Forward | None = None,
    standing: str = "",
) -> Prompt:
    """The prompt of a capture, proven.

    Args:
        capture: A parsed capture.
        sender: Whose it is, as the supervisor knows it.
        nonce: A fresh nonce of 64 bits or more in lower-case hex; one that occurs in a text refuses the run.
        draw: Instead of `nonce`: draws one, and another while it occurs in a text (F4). Preferred.
        forwarded: Set when the owner forwards a contact's capture.
        standing: The owner's standing word on what a paired agent sends; stands outside the block (R25).

    Raises:
        FenceError: The fence cannot be made or does not read back; the run does not start.
    """
    if (nonce is None) == (draw is None):
        raise FenceError("cannot fence a capture: give either a nonce or a way to draw one")
    request, cleaned = _request(capture, sender, forwarded, standing)
    block = wrap(
        _fields(capture, own=sender.kind is SenderKind.OWNER),
        draw=draw or (lambda: nonce or ""),
        attributes=_attributes(sender, forwarded),
        beside=(request, capture.agent),
    )
    parts = (request, block.text, AFTER_BLOCK)
    text = "\n\n".join(parts)
    _prove(text, parts, block)
    counts = Counter(dict(block.counts))
    counts.update({f"request_{kind}": count for kind, count in cleaned.items()})
    return Prompt(
        text=Fenced(text),
        system_rule=system_rule(block.nonce),
        images=capture.images,
        counts=dict(counts),
        parts=parts,
        nonce=block.nonce,
    )


def _request(  # noqa: PLR0917 - all that may stand outside
    capture: Capture, sender: Sender, forwarded: Forward | None, standing: str
) -> tuple[str, Mapping[str, int]]:
    """What stands outside the block: the owner's own words and nobody else's (R3, R4, R13)."""
    own = sender.kind is SenderKind.OWNER
    note, intent = (capture.note, capture.intent) if own else (forwarded.note if forwarded else standing, "")
    said: list[str] = []
    counts: Counter[str] = Counter()
    for field, lead, text in (("note", "", note), ("intent", "Intent: ", intent)):
        kept = cut_raw(text, FIELDS[field])
        words = visible(kept.replace("\r\n", "\n"))
        counts.update(words.counts)
        full = max(len(text), capture.truncated.get(field, 0) if own else 0)
        ending = f" (cut: {len(kept)} of {full} characters)" if len(kept) < full else ""
        said += [lead + words.text + ending] if words.text.strip() else []
    return "\n\n".join(said) or (_NO_REQUEST if own else _NOT_OWNER), counts


def _fields(capture: Capture, *, own: bool) -> list[Field]:
    fields = [("url", capture.url), ("title", capture.title)]
    fields += [(f"label {at}", label) for at, label in enumerate(capture.labels, 1)]
    fields += [] if own else [("note", capture.note), ("intent", capture.intent)]
    fields += [("text", capture.text)]
    fields += [(f"image {at}", image.name) for at, image in enumerate(capture.images, 1)]
    return [Field(label, Untrusted(text), capture.truncated.get(label, 0)) for label, text in fields]


def _attributes(sender: Sender, forwarded: Forward | None) -> dict[str, str]:
    """Owner captures name no sender: the text in them is no word of the owner's."""
    if sender.kind is SenderKind.OWNER:
        if forwarded is not None:
            raise FenceError("cannot fence a capture: the owner's own capture is not forwarded")
        return {}
    given = {"sender": sender_label(sender)}
    if sender.kind is SenderKind.AGENT:
        given["kind"] = "agent"
    if forwarded is not None:
        if not forwarded.hops or forwarded.hops[-1].kind is not SenderKind.OWNER:
            raise FenceError("cannot fence a capture: a forward ends with the owner")
        given["via"] = ", ".join(sender_label(hop) for hop in forwarded.hops)
    return given


def _prove(text: str, parts: tuple[str, str, str], block: Wrapped) -> None:
    """The whole prompt reads back as its three parts, with the block that was proven alone."""
    alone = parse(block.text).block
    prove(text, Block(alone.attributes, alone.fields))
    found = parse(text)
    if (found.before, found.after) != (parts[0] + "\n\n", "\n\n" + parts[2]):
        raise FenceError("cannot prove the fence: the words around the block are not the ones that were put there")
