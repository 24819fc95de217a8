"""Durations and sizes as a profile spells them: `60s` `15m` `12h` `7d`, `512KiB` `256MiB` `1GiB`."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_SIZE = re.compile(r"([0-9]{1,15})(B|KiB|MiB|GiB|TiB)")


def seconds(text: str) -> float:
    """Seconds of a duration.

    Raises:
        ValueError: Not a whole number with one of the units s, m, h, d.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError('a duration is a whole number and s, m, h or d, such as "60s"')
    return float(int(match.group(1)) * _SECONDS[match.group(2)])


def byte_count(text: str) -> int:
    """Bytes of a size.

    Raises:
        ValueError: Not a whole number with one of the units B, KiB, MiB, GiB, TiB.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError('a size is a whole number and B, KiB, MiB, GiB or TiB, such as "256MiB"')
    return int(match.group(1)) * _BYTES[match.group(2)]
