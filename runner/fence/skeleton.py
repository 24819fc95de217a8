"""What two names look like to a reader, so that one cannot stand in for the other (S2). Pure.

The letters are those of Unicode's confusables that are drawn like an ASCII letter or digit and are not one after NFKD.
"""

from __future__ import annotations

import unicodedata

from runner.fence.classes import is_hidden, spans

_LOOKALIKES = {
    "2": "1A8 1BB 3E9 14BF 2781 A645 A6EF A75B",
    "3": "21D 25C 292 437 499 4E1 2782 2CCD A76B",
    "4": "13CE 2783",
    "5": "2784",
    "6": "431 13EE 2785 2CD3",
    "7": "2786",
    "8": "223 9EA A6A 2787",
    "9": "9ED A67 B68 D6D 2788 2CCB A76F",
    "a": "251 3B1 430 13AA 15C5 A4EE",
    "b": "180 183 185 253 3B2 432 44C 463 48D 13CF 13F4 1472 1473 15AF 15F7 A4D0 A7B5",
    "c": "23C 441 4AB 13DF 1D04 2CA5 A4DA",
    "d": "F0 111 18C 256 257 501 13A0 13E7 146F 15DE 15EA A4D2 A4D3",
    "e": "247 3B5 435 4BD 4BF 13AC 2D39 A4F0 AB32",
    "f": "192 3DD 584 15B4 1D6E 1E9D A4DD A799 AB35",
    "g": "18D 1E5 260 261 50D 581 13C0 13F3 1D83 A4D6",
    "h": "127 266 43D 45B 4A3 4BB 4C8 4CA 570 13BB 13C2 13F2 157C 2C68 2C8F A4E7 A695",
    "j": "249 29D 3F3 458 13AB 148D A4D9",
    "k": "199 3BA 43A 49B 49F 13E6 16D5 2C6A 2C95 A4D7 A741",
    "l": (
        "131 142 19A 1C0 268 269 26A 26B 26D 3B9 456 4CF 6F1 13A5 13DE 14AA 16C1 18F3 1D7B 1D7C 2780 2C93 2CD1 2D4F "
        "A4E1 A4F2 A647"
    ),
    "m": "3BC 3FB 43C 4CE 13B7 15F0 16D6 2C99 A4DF AB51",
    "n": "19E 272 273 3B7 578 57C 1D70 2C9B A4E0",
    "o": (
        "F8 275 3B8 3BF 3C3 43E 473 4E9 585 6F5 966 9E6 A66 AE6 B20 B66 BE6 C66 CE6 D20 D66 E50 ED0 101D 1040 10FF "
        "12D0 13A4 13BE 13EB 1D0F 1D11 2C9F 2D31 2D41 2D54 3007 A4F3 A74B AB3D AB3E"
    ),
    "p": "1A5 3C1 440 13E2 146D 1D7D 2CA3 A4D1",
    "q": "2A0 51B 563 566 2D55",
    "r": "24D 27C 27D 280 433 493 13A1 13B1 13D2 1587 18F4 1D26 1D72 2C85 A4E3 AB47 AB48",
    "s": "1BD 282 455 57F 13D5 13DA 18F5 1D74 A4E2 A731",
    "t": "167 1AB 1AD 288 3C4 442 4AD 13A2 1D75 2C66 2CA7 A4D4",
    "u": "289 28B 3C5 57D 1200 13CC 144C 1D1C 1D7E A4F4 A79F AB4E AB52",
    "v": "3BD 475 6F7 13D9 142F 1D20 2D38 A4E6 A6DF",
    "w": "26F 461 47D 51D 561 13B3 13D4 1D21 A4EA A761",
    "x": "3C7 445 4B3 1541 157D 16B7 2CAD 2D5D A4EB AB53",
    "y": "1B4 24F 263 28F 3B3 443 4AF 4B1 10E7 13A9 13BD 1D8C 1EFF 2CA9 A4EC AB5A",
    "z": "1B6 225 290 3B6 13C3 1646 1D22 1D76 A4DC",
}
_TO_ASCII = {code: letter for letter, text in _LOOKALIKES.items() for low, high in spans(text) for code in range(low, high + 1)}
#: Of ASCII itself: what is read for another letter at a glance.
_PAIRS = (("0", "o"), ("1", "l"), ("i", "l"), ("rn", "m"), ("vv", "w"))


def skeleton(name: str) -> str:
    """The same text for two names that a reader could take for each other.

    Case, accents, blanks and punctuation count for nothing, and every letter for the ASCII one it is drawn like.
    """
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    bare = "".join(char for char in text if not unicodedata.combining(char) and not is_hidden(char))
    letters = "".join(char for char in bare.translate(_TO_ASCII).casefold() if char.isalnum())
    for seen, read in _PAIRS:
        letters = letters.replace(seen, read)
    return letters
