"""What a reply would give away besides its words: where its links lead, and traces of what must not leave (O1, O2). Pure.

Nothing is fetched and nothing is decoded beyond what a screen or a page would decode by itself: a review cannot see what is
encoded some other way.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from runner.store.redact import redacted_text

#: Links of one reply that are named; that there are more is said, and holds it.
MOST_LINKS = 200
_SYMBOLS = "0-9a-hjkmnp-tv-z"
_TARGET = r"([^\s)>\"'`]{1,4000})"
_NAME = r"(?:[\w-]{1,63}[.\u3002\uff0e\uff61]){1,10}[^\W\d_]{2,24}"
_ATTRIBUTE = r"(?:src|href|srcset|action|formaction|poster|data|background|cite|ping|content)"
#: How a target can stand in a text, the most telling form first. Those of `_LOADS` are fetched by whoever shows them.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for form, pattern in (
        ("terminal link", r"(?:\x1b\]|\x9d)8;[^;\x07\x1b\x9c]{0,400};([^\x07\x1b\x9c]{1,4000})"),
        ("image", r"!\[[^\]]{0,1000}\]\(\s{0,20}<?" + _TARGET),
        ("link", r"\[[^\]]{0,1000}\]\(\s{0,20}<?" + _TARGET),
        ("reference", r"^[ \t>*+-]{0,20}\[[^\]]{1,1000}\]:\s{0,20}<?" + _TARGET),
        ("html", r"[\s\"'/:<]" + _ATTRIBUTE + r"\s{0,20}=\s{0,20}[\"']?\s{0,20}" + _TARGET),
        ("css", r"(?:url\(|@import)\s{0,20}[\"']?" + _TARGET),
        ("address", r"(?<![\w/])((?:[a-z][a-z0-9+.-]{1,31}:)?//[^\s<>\"'`)\]]{1,4000})"),
        ("address", r"(?<!\w)((?:mailto|data|javascript|tel|file):[^\s<>\"'`)\]]{1,4000})"),
        # A name with a dot and a path: what a chat or mail program makes a link of by itself.
        ("address", rf"(?<![\w@./-])((?:www\.|{_NAME}[/?#:])[^\s<>\"'`)\]]{{0,4000}})"),
    )
)
_LOADS = frozenset({"image", "html", "css", "reference"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,31}:", re.IGNORECASE)
_ID = re.compile(rf"(?<![0-9a-z_])[apg]_[{_SYMBOLS}]{{16}}(?![0-9a-z])", re.IGNORECASE)


class Link(NamedTuple):
    """Something in a text that leads elsewhere. `host` is in ASCII; `loads`: a page or mail program may fetch it unasked."""

    form: str
    host: str
    target: str
    loads: bool


def links(text: str) -> tuple[Link, ...]:
    """What in `text` leads elsewhere, each once, up to `MOST_LINKS`; also where HTML or Markdown would only make it so."""
    return _found(text)[:MOST_LINKS]


def has_more_links(text: str) -> bool:
    """Whether `text` leads to more places than `links` names."""
    return len(_found(text)) > MOST_LINKS


def _found(text: str) -> tuple[Link, ...]:
    """Each link once, up to one more than are named."""
    found: dict[str, Link] = {}
    for reading in dict.fromkeys((text, html.unescape(text), re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text))):
        for link in _links(reading):
            found.setdefault(link.target, link)
            if len(found) > MOST_LINKS:
                return tuple(found.values())
    return tuple(found.values())


def traces(text: str, *, nonces: Collection[str] = (), ids: Collection[str] = ()) -> tuple[str, ...]:
    """What of `text` must not leave unseen, a clause each: it is held with this, whatever the profile allows (O2).

    Args:
        text: What would be sent.
        nonces: Fences of runs that are alive, and this run's own.
        ids: Ids by which something can be decided now.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    squeezed = re.sub(r"[\W_]+", "", plain)
    said: list[str] = []
    if any(nonce.casefold() in squeezed for nonce in nonces if nonce):
        said.append("it holds the fence value of a run")
    if _ID.search(plain) or any(one[:8] in plain or one[2:12] in squeezed for one in ids):
        said.append("it holds what looks like the id of an approval, a reply or a grant")
    if redacted_text(text) != text or redacted_text(plain) != plain:
        said.append("it holds what looks like a secret")
    if has_more_links(text):
        said.append(f"it holds more than {MOST_LINKS} links, and a review names the first {MOST_LINKS} of them only")
    if hidden := unseen(text):
        said.append(f"it holds {hidden} character{'' if hidden == 1 else 's'} that a screen would hide or act on")
    return tuple(said)


def unseen(text: str) -> int:
    """How many characters of `text` a screen would hide or act on."""
    return 0 if text.isprintable() else sum(1 for char in text if not char.isprintable() and char not in "\n\t\r")


def host_of(target: str) -> str:
    """Where a target leads, in ASCII; for what names no host its scheme, and nothing for a place in the same text."""
    text = unquote(target.strip())
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme and not text.lower().startswith("www.") else text
    if scheme and scheme.group().lower() == "mailto:":
        return _ascii(rest.partition("?")[0].rpartition("@")[2])
    if not rest.replace("\\", "/").startswith("//"):
        named = re.match(rf"{_NAME}(?=[/?#:]|$)", text)
        if named and (not scheme or scheme.group().rstrip(":") in named.group()):
            return _ascii(named.group())
        return scheme.group().lower() if scheme else ""
    place = re.split(r"[/?#]", rest.replace("\\", "/").lstrip("/"), maxsplit=1)[0]
    return _ascii(re.sub(r":\d{0,6}$", "", place.rpartition("@")[2]))


def _links(text: str) -> Iterator[Link]:
    for form, pattern in _FORMS:
        for match in pattern.finditer(text):
            target = next(group for group in match.groups() if group is not None)
            host = host_of(target)
            if host:
                yield Link(form, host, target, form in _LOADS)


def _ascii(host: str) -> str:
    """A host as a name server is asked for it: what is not ASCII in punycode, so that no two hosts look alike."""
    name = re.sub(r"[\u3002\uff0e\uff61]", ".", host).casefold()
    labels = [unicodedata.normalize("NFKC", label) for label in name.split(".")]
    return ".".join(label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii") for label in labels)
