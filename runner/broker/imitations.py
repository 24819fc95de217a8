"""Names in a call that pass for one the operator knows: a contact's petname, the host's own name (V6). Pure.

It compares whole names by their skeletons, warns, and forbids nothing. The texts of files are `preview`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.broker.saying import Spoken, host_of
from runner.broker.values import CONTENT
from runner.fence.skeleton import skeleton

#: A word of plain letters has to be this long: `al` and `ai` are words of their own.
_SHORTEST = 4
#: Words of one text that are looked at.
_MOST = 2000
_NAMED = 60
_WORD = re.compile(r"[^\s/\\,;:=@()\[\]{}<>\"'`|&?#]+")
_HOST = re.compile(r"://(?:[^\s/@]*@)?([^\s/:?#\"'`]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the operator knows by name. `host`: the name by which contacts reach this host; "" where there is none."""

    petnames: tuple[str, ...] = ()
    host: str = ""


def imitations(call: Spoken, known: Known) -> tuple[str, ...]:
    """Warnings about names in the call that look like a known one and are another, each once."""
    if not known.petnames and not known.host:
        return ()
    by_looks = {skeleton(name): name for name in known.petnames}
    found: list[str] = []
    for where, word in _names(call):
        twin = by_looks.get(skeleton(word), word)
        if twin.casefold() != word.casefold() and (len(twin) >= _SHORTEST or not word.isascii()):
            found.append(f"the {where} names {word[:_NAMED]}, which looks like your contact {twin} and is written otherwise")
        if "." in word and _is_like(host := word.strip(".").casefold(), known.host.casefold(), address=where == "host"):
            found.append(f"the {where} names {host[:_NAMED]}, which looks like your own {known.host} and is another")
    return tuple(dict.fromkeys(found))


def _names(call: Spoken) -> Iterator[tuple[str, str]]:
    """Every name of the call, and where it stands."""
    for path in call.paths:
        for part in dict.fromkeys((*PurePosixPath(path.asked).parts, *path.resolved.parts)):
            yield "path", part
            yield "path", PurePosixPath(part).stem
    yield "host", host_of(call.text("url"))
    asked = {path.asked for path in call.paths}
    for name, value in call.arguments.items():
        if isinstance(value, str) and name not in CONTENT and value not in asked:
            yield "call", value.strip()
            yield from (("host", host.casefold()) for host in _HOST.findall(value)[:_MOST])
            yield from (("call", word) for word in _WORD.findall(value)[:_MOST])


def _is_like(host: str, own: str, *, address: bool) -> bool:
    """Whether a host is taken for one's own, and is neither it nor beneath it.

    A file may be called after a host; only in an address does one's own name stand before another.
    """
    if not own or host == own or host.endswith(f".{own}"):
        return False
    beneath = ".".join(host.split(".")[-own.count(".") - 1 :])
    return skeleton(own) in {skeleton(host), skeleton(beneath)} or (address and f".{own}." in f".{host}")
