"""Makes the source of `runner/fence/table.py` from the running Python's Unicode data and explicit lists (U2).

Run it as a module to write the table anew: `python -m tests.helpers.unicode_table > runner/fence/table.py`.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Iterable

#: Default_Ignorable_Code_Point of Unicode, which the standard library does not carry.
DEFAULT_IGNORABLE = (
    "AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8 "
    "1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)
#: Drawn as nothing or as a stand-in, though no property says so.
BLANKS = "2800 FFFC"
#: Prepended_Concatenation_Mark: of category Cf, but drawn; they stay.
DRAWN_FORMATS = "600-605 6DD 70F 890-891 8E2 110BD 110CD"
#: Extended_Pictographic, without the digits.
PICTOGRAPHS = (
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0 "
    "25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E "
    "2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 "
    "1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F201-1F20F 1F21A 1F22F 1F232-1F23A "
    "1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF 1F90C-1F93A 1F93C-1F945 "
    "1F947-1FAFF"
)
#: Blocks of the scripts whose spelling needs joiners: Arabic, Syriac, N'Ko, Mandaic, the Indic family, Khmer, Mongolian.
JOINING_BLOCKS = "600-7FF 840-8FF 900-109F 1780-18AF A840-A87F A8E0-A8FF FB50-FDFF FE70-FEFC 10E60-10FFF 11000-1137F"
#: Characters drawn like a letter of the tag, a bracket or a bar (Unicode confusables), beside what NFKC maps there.
LOOKALIKES = {
    "u": "28B 3C5 57D 1D1C A79F AB4E AB52 104F6 118D8 54D 1200 144C 222A 22C3 A4F4 104CE 118B8 16F42",
    "n": "578 57C 273 272 14B 3B7 438 2C9A A4E0 10513 39D 146 1D0E",
    "t": "3A4 3C4 422 442 13A2 22A4 27D9 2CA6 A4D4 10297 102B1 10315 118BC 16F0A 1F768 1D1B",
    "r": "433 1D26 2C85 AB47 AB48 AB81 1A6 13A1 13D2 1587 A4E3 104B4 16F35 1D216 280",
    "s": "1BD 455 A731 ABAA 10448 118C1 405 54F 13D5 13DA A4E2 10296 10420 16F3A",
    "e": "435 4BD 212E AB32 395 415 13AC 22FF 2D39 A4F0 10286 118A6 118AE 3B5 1D07 451 454",
    "d": "501 13E7 146F A4D2 13A0 15DE 15EA A4D3 1D05 111",
    "open": "2C2 1438 16B2 2039 276E 1D236 27E8 2329 3008 300A 226A AB 276C 2770 29FC 22D6 2A79 FE3D FE3F",
    "close": "2C3 1433 203A 276F 16F3F 1D237 27E9 232A 3009 300B 226B BB 276D 2771 29FD 22D7 2A7A FE3E FE40",
    "slash": "1735 2041 2044 2215 2571 27CB 29F8 2CC6 2F03 3033 30CE 31D3 4E3F 1D23A 5C 29F5 FF3C",
    "bar": "2502 2503 7C 2223 2758 FE31 FF5C FFE8 FE33 23D0 1C0",
}
_TARGETS = {"open": "<", "close": ">", "slash": "/", "bar": "|"}


def points(text: str) -> set[int]:
    """Code points of a list such as `AD 115F-1160`."""
    found: set[int] = set()
    for item in text.split():
        first, _, last = item.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


def hidden() -> set[int]:
    """Every code point that a reader cannot see, tell apart or keep on its line."""
    found = points(DEFAULT_IGNORABLE) | points(BLANKS)
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
            found.add(code)
    return found - points(DRAWN_FORMATS) - {0x09, 0x0A}


def marks(unseen: set[int]) -> set[int]:
    """Combining marks that stack on one letter."""
    return {code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in {"Mn", "Me"}} - unseen


def joining(unseen: set[int]) -> set[int]:
    """Letters and marks between which a joiner changes the spelling."""
    return {code for code in points(JOINING_BLOCKS) - unseen if unicodedata.category(chr(code))[0] in "LM"}


def lookalikes(kind: str, unseen: set[int]) -> set[int]:
    """What could pass for one letter of the tag, for a bracket, the slash or the gutter."""
    target = _TARGETS.get(kind, kind)
    alike = {_skeleton(chr(code)) for code in points(LOOKALIKES[kind])} | {target}
    folded = {code for code in range(0x80, sys.maxunicode + 1) if code not in unseen and _skeleton(chr(code)) in alike}
    return folded | points(LOOKALIKES[kind]) | {ord(target), ord(target.upper())}


def ranges(found: Iterable[int]) -> str:
    """Code points as the text `points` reads."""
    spans: list[list[int]] = []
    for code in sorted(found):
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return " ".join(f"{low:X}" if low == high else f"{low:X}-{high:X}" for low, high in spans)


def source() -> str:
    """The module's text."""
    unseen = hidden()
    tables = {
        "HIDDEN": unseen,
        "MARKS": marks(unseen),
        "PICTOGRAPHS": points(PICTOGRAPHS) - unseen,
        "JOINING": joining(unseen),
        **{f"LIKE_{kind.upper()}": lookalikes(kind, unseen) for kind in LOOKALIKES},
    }
    text = (
        '"""Unicode tables of the fence, generated by tests/helpers/unicode_table.py; never edited by hand (U2)."""\n\n'
        f'UNICODE_VERSION = "{unicodedata.unidata_version}"\n'
    )
    for name, found in tables.items():
        lines = textwrap.wrap(ranges(found), 120)
        if len(lines) == 1 and len(name) + len(lines[0]) + 5 <= 128:
            text += f'\n{name} = "{lines[0]}"\n'
        else:
            text += f"\n{name} = (\n" + "".join(f'    "{line} "\n' for line in lines[:-1]) + f'    "{lines[-1]}"\n)\n'
    return text


def _skeleton(character: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())


if __name__ == "__main__":
    sys.stdout.write(source())
