"""Names of senders in the block's attributes: only what the supervisor knows, in one form (F8, S1, S2). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NewType

from runner.fence.classes import hidden_counts
from runner.fence.skeleton import skeleton
from runner.fence.untrusted import FenceError
from runner.model import Sender, SenderKind

NameFault = NewType("NameFault", str)

_RESERVED = frozenset(
    {"you", "me", "self", "owner", "operator", "system", "assistant", "supervisor", "runner", "admin", "human", "anthropic"}
    | {"claude", "agent", "user", "via", "root", "tool", "model", "contact", "sender", "myself", "yourself", "administrator"}
    | {"sysadmin"},
)
#: With commas of other scripts: hands of a forward are listed with one between them.
_FORBIDDEN = frozenset("⟨⟩()\"'<>&:=\\│|`,;\N{ARABIC COMMA}\N{IDEOGRAPHIC COMMA}\N{SINGLE LOW-9 QUOTATION MARK}")
_LIKE_RESERVED = frozenset(map(skeleton, _RESERVED))
_FINGERPRINT = re.compile(r"[0-9a-z]{4}(?:-[0-9a-z]{4}){3,15}")
MAX_PETNAME = 40


def petname_fault(name: str) -> NameFault | None:
    """Why a petname cannot be shown as a sender, or None (S2).

    Whether it imitates another contact's is for whoever knows the others.
    """
    if not 1 <= len(name) <= MAX_PETNAME:
        return NameFault("a petname has 1 to 40 characters")
    plain = unicodedata.normalize("NFKC", name)
    if name != name.strip() or not name.isprintable() or hidden_counts(name) or _FORBIDDEN & set(name + plain):
        return NameFault("a petname holds no brackets, quotes, ampersands, colons, commas or hidden characters")
    if not any(character.isalnum() for character in name):
        return NameFault("a petname holds a letter or a digit")
    if len({_script(character) for character in name if character.isalpha()}) > 1:
        return NameFault("a petname is written in one script")
    if {skeleton(word) for word in (name, *_words(plain))} & _LIKE_RESERVED:
        return NameFault("a petname is none of the reserved words")
    return None


def sender_label(sender: Sender) -> str:
    """`petname ⟨fingerprint⟩ (not you)` for a contact, the same behind `agent` for a paired agent, `you` for the owner (S5).

    Raises:
        FenceError: A contact without a fit petname and a verified key's fingerprint of at least 64 bits (S1).
    """
    if sender.kind is SenderKind.OWNER:
        return "you"
    fault = petname_fault(sender.petname or "")
    if fault is not None:
        raise FenceError(f"cannot name the sender: {fault}")
    if _FINGERPRINT.fullmatch(sender.fingerprint or "") is None:
        raise FenceError("cannot name the sender: no verified key's fingerprint")
    label = f"{sender.petname} ⟨{sender.fingerprint}⟩ (not you)"
    return f"agent {label}" if sender.kind is SenderKind.AGENT else label


def _words(name: str) -> Iterator[str]:
    """What a reader may read as a word in a name, however it is joined to the rest."""
    for word in (*re.split(r"[\W_]+", name), *re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name)):
        yield from (word, re.sub(r"\d+$", "", word), re.sub(r"^\d+", "", word), *re.split(r"\d+", word))


def _script(character: str) -> str:
    """The first word of a letter's name; Japanese mixes three and is taken as one."""
    word = unicodedata.name(character, "UNKNOWN").split()[0]
    return "HAN" if word in {"HIRAGANA", "KATAKANA", "CJK"} else word
