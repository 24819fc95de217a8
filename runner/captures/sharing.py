"""What a file would give away if it were handed to somebody: its kind, and what stands in it that must not leave unseen. Pure.

Owns the bounds of a share and the names that can be in one. What is packed, encoded or drawn cannot be looked into.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from runner.captures.images import sniff
from runner.captures.revealing import links, traces, unseen
from runner.digest import digest_bytes
from runner.errors import UsageError
from runner.model import Digest

MAX_FILES = 16
MAX_BYTES, MAX_TOTAL = 8 * 1024 * 1024, 16 * 1024 * 1024
MAX_NAME = 200  #: bytes
MAX_NOTE = 2000  #: characters
#: Hosts of one file that are named.
MAX_HOSTS = 40
#: A text is searched in pieces that overlap, so that nobody waits long for this thread.
_PIECE, _OVERLAP = 16 * 1024, 1024
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP archive or office document"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!", "RAR archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "program"),
    (b"MZ", "program"),
    (b"SQLite format 3\x00", "database"),
)
#: What says where, when and with what a picture was taken.
_METADATA = (b"Exif\x00\x00", b"eXIf", b"EXIF", b"iTXt", b"tEXt", b"zTXt", b"http://ns.adobe.com/xap/", b"Photoshop 3.0")
_PRINTABLE = re.compile(rb"[\x20-\x7e]{8,}")
_ODD = bytes(set(range(256)) - set(b"0123456789abcdefghijklmnopqrstuvwxyz"))
#: Characters that a path, a shell or another system reads as more than a name.
_UNSAFE = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f]')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


class Host(NamedTuple):
    """Where something in a text leads, in ASCII. `loads`: whatever shows the text may fetch it unasked."""

    name: str
    form: str
    loads: bool
    times: int


class Found(NamedTuple):
    """A file as its owner is shown it. `sealed`: nobody can see what is in it by reading it as a text."""

    name: str
    size: int
    digest: Digest
    kind: str
    sealed: bool
    warnings: tuple[str, ...]
    hosts: tuple[Host, ...] = ()
    more_hosts: int = 0


class Live(NamedTuple):
    """What must not leave while it means something."""

    nonces: Collection[str] = ()
    ids: Collection[str] = ()


def named(name: str) -> str:
    """A file's name, if it can be in a share.

    Raises:
        UsageError: It has a path in it, cannot be read or written down, or is too long.
    """
    why = ""
    if not name.strip() or name in {".", ".."} or "/" in name or "\\" in name:
        why = "it is no name of a file"
    elif any("\ud800" <= char <= "\udfff" for char in name):
        why = "it is not UTF-8"
    elif unseen(name) or any(char in name for char in "\n\t\r"):
        why = "it holds characters that a screen would hide or act on"
    elif len(name.encode()) > MAX_NAME:
        why = f"it is over {MAX_NAME} bytes long"
    if why:
        raise UsageError(f"cannot share a file called {name!r}: {why}", resolution="copy it under another name and share that")
    return name


def check(files: Sequence[tuple[str, bytes]], note: str) -> None:
    """See that these could be a share.

    Raises:
        UsageError: None, too many, too large, a name that cannot be, or two that would be one where they arrive.
    """
    if not 0 < len(files) <= MAX_FILES:
        raise UsageError(f"cannot share {len(files)} files: 1 to {MAX_FILES} at once", resolution="pack them, or share twice")
    if len(note) > MAX_NOTE:
        raise UsageError(f"cannot share: the note is over {MAX_NOTE} characters", resolution="put it into a file")
    seen: dict[str, str] = {}
    for name, data in files:
        key = unicodedata.normalize("NFKC", safe_name(named(name)).casefold()).casefold()  # as it will stand with them
        if key in seen:
            raise UsageError(f"cannot share two files called {seen[key]!r} and {name!r}", resolution="rename one of them")
        seen[key] = name
        if len(data) > MAX_BYTES:
            raise UsageError(f"cannot share {name!r}: it is over {MAX_BYTES} bytes", resolution="share less")
    if sum(len(data) for _, data in files) > MAX_TOTAL:
        raise UsageError(f"cannot share: these are over {MAX_TOTAL} bytes together", resolution="share twice")


def look(name: str, data: bytes, live: Live) -> Found:
    """Everything that can be said of a file by looking at it."""
    kind, text = _kind(data)
    said = dict.fromkeys(_traces(name, live))
    if text is not None:
        if hidden := unseen(text.removeprefix("\ufeff")):
            said[f"it holds {hidden} character{'' if hidden == 1 else 's'} that a screen would hide or act on"] = None
        said |= dict.fromkeys(_traces(text, live))
    else:
        said |= dict.fromkeys(_traces("\n".join(run.decode("ascii") for run in _PRINTABLE.findall(data)), live))
    said |= dict.fromkeys(_raw(data, live))
    if kind.startswith("image") and any(mark in data for mark in _METADATA):
        said["it carries notes besides the picture: place, time, device or author may be among them"] = None
    hosts = [] if text is None else _hosts(text)
    return Found(
        name=name,
        size=len(data),
        digest=digest_bytes(data),
        kind=kind,
        sealed=text is None and bool(data),
        warnings=tuple(said),
        hosts=tuple(hosts[:MAX_HOSTS]),
        more_hosts=max(len(hosts) - MAX_HOSTS, 0),
    )


def look_at_note(note: str, live: Live) -> tuple[str, ...]:
    """What of a note must not leave unseen."""
    return traces(note, nonces=live.nonces, ids=live.ids)


def safe_name(name: str) -> str:
    """A name under which somebody else's file can stand in a folder of ours, whatever they call it: no path, nothing hidden."""
    plain = _UNSAFE.sub("_", "".join(char if char.isprintable() else "_" for char in unicodedata.normalize("NFC", name)))
    plain = plain.strip(" ").rstrip(". ")
    if plain.startswith((".", "-", "~")):
        plain = f"_{plain[1:]}"
    if _DEVICES.match(plain):
        plain = f"_{plain}"
    while len(plain.encode("utf-8", "replace")) > MAX_NAME:
        plain = plain[:-1]
    return plain.rstrip(". ") or "file"


def _kind(data: bytes) -> tuple[str, str | None]:
    """What it is by its own bytes, and its text if it is one."""
    if not data:
        return "empty", ""
    picture = sniff(data)
    if picture is not None:
        return f"{picture.media_type}, {picture.width} by {picture.height}", None
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind, None
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return "data of no kind that is known here", None
    return ("text" if encoding == "utf-8" else f"text, {encoding}"), text


def _traces(text: str, live: Live) -> Iterator[str]:
    """As `traces`, piece by piece; what cannot be seen is taken out first, so that it breaks no secret in two."""
    plain = text if text.isprintable() else "".join(char for char in text if char.isprintable() or char in "\n\t")
    for start in range(0, max(len(plain), 1), _PIECE):
        yield from traces(plain[start : start + _PIECE + _OVERLAP], nonces=live.nonces, ids=live.ids)


def _raw(data: bytes, live: Live) -> Iterator[str]:
    """The same of bytes in whatever encoding, as far as it keeps letters and digits."""
    squeezed = data.lower().translate(None, _ODD)
    if any(nonce.lower().encode() in squeezed for nonce in live.nonces if nonce):
        yield "it holds the fence value of a run"
    if any(one[2:12].encode() in squeezed for one in live.ids):
        yield "it holds what looks like the id of an approval, a reply or a grant"


def _hosts(text: str) -> list[Host]:
    found: dict[str, Host] = {}
    for start in range(0, len(text), _PIECE):
        for link in links(text[start : start + _PIECE + _OVERLAP]):
            before = found.get(link.host)
            if before is None:
                found[link.host] = Host(link.host, link.form, link.loads, 1)
            else:
                found[link.host] = before._replace(loads=before.loads or link.loads, times=before.times + 1)
    return list(found.values())
