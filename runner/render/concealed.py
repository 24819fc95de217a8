"""What a capture hid, in sentences for a person: how many of which characters, and what they spell (U4).

The model is never told what they spell. Whoever shows a sentence escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from runner.model import JsonObject
from runner.render.values import objects_at, text_at

#: Classes of the fence, as people call them: one of them, several of them.
_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "line": ("odd line end", "odd line ends"),
        "control": ("control character", "control characters"),
        "bidi": ("character that turns the reading direction", "characters that turn the reading direction"),
        "joiner": ("joiner out of place", "joiners out of place"),
        "tag": ("tag character", "tag characters"),
        "variation": ("variation selector", "variation selectors"),
        "zero_width": ("character without width", "characters without width"),
        "surrogate": ("half character", "half characters"),
        "private": ("private character", "private characters"),
        "unassigned": ("unassigned character", "unassigned characters"),
        "combining": ("mark too many on a letter", "marks too many on a letter"),
        "spoof": ("imitation of the fence's marker", "imitations of the fence's marker"),
    }
)


def what_was_hidden(record: JsonObject) -> list[str]:
    """`text hid 42 tag characters; decoded: …`, a sentence for each field that hid something."""
    said = []
    for one in objects_at(record, "hidden"):
        counts = one.get("counts")
        kinds = [_count(kind, count) for kind, count in counts.items()] if isinstance(counts, dict) else []
        spelled = text_at(one, "spelled")
        said.append(f"{text_at(one, 'field')} hid {', '.join(kinds)}" + (f"; decoded: {spelled}" if spelled else ""))
    return said


def _count(kind: str, count: object) -> str:
    single, many = _WORDS.get(kind, (kind, kind))
    return f"{count} {single if count == 1 else many}"
