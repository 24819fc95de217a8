"""The HTTP fuzz of a gateway's socket, for FUZZ_SECONDS (600): what it finds is printed as the bytes that do it.

Usage: python -m campaigns.fuzz [SEED]
"""

from __future__ import annotations

import os
import sys
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests.helpers.fuzzing import check, requests

#: Examples of one round, each of up to 16 requests at once.
ROUND = 200


def main(arguments: list[str]) -> int:
    """Play rounds until the time is over; 1 when something was found."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    seed, began, sent = int(arguments[0]) if arguments else time.time_ns() % 10**9, time.monotonic(), 0

    def count(found: list[bytes]) -> None:
        nonlocal sent
        sent += len(found)
        check(found)

    rounds = 0
    while time.monotonic() - began < seconds:
        played = settings(max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        many = given(st.lists(requests(), min_size=1, max_size=16))
        try:
            seeded(seed + rounds)(played(many(count)))()
        except AssertionError as error:
            print(f"found with seed {seed + rounds}: {error}")
            return 1
        rounds += 1
    print(f"{sent} requests in {rounds} rounds from seed {seed}, {time.monotonic() - began:.0f} seconds: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
