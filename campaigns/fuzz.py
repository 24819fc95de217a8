"""The HTTP fuzz of a gateway's socket, for FUZZ_SECONDS (600): what it finds is printed as the bytes that do it.

Usage: python -m campaigns.fuzz [SEED]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests.helpers.fuzzing import HEAVY_LIMITS, check, requests
from tests.helpers.heavy_requests import heavy

#: Examples of one round: of up to 16 odd requests at once, and of up to 4 that are well formed and dear.
ROUND, HEAVY_ROUND = 200, 20


def main(arguments: list[str]) -> int:
    """Play rounds until the time is over; 1 when something was found."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    seed, began = int(arguments[0]) if arguments else time.time_ns() % 10**9, time.monotonic()
    sent = {"odd": 0, "heavy": 0}

    def odd(found: list[bytes]) -> None:
        sent["odd"] += len(found)
        check(found)

    def dear(found: list[bytes]) -> None:
        sent["heavy"] += len(found)
        check(found, HEAVY_LIMITS)

    rounds = 0
    while time.monotonic() - began < seconds:
        try:
            play(st.lists(requests(), min_size=1, max_size=16), odd, examples=ROUND, seed=seed + rounds)
            play(st.lists(heavy(), min_size=1, max_size=4), dear, examples=HEAVY_ROUND, seed=seed + rounds)
        except AssertionError as error:
            print(f"found with seed {seed + rounds}: {error}")
            return 1
        rounds += 1
    seconds = time.monotonic() - began
    said = f"{sent['odd']} odd and {sent['heavy']} heavy requests in {rounds} rounds from seed {seed}, {seconds:.0f} seconds"
    print(f"{said}: nothing found")
    return 0


def play(many: st.SearchStrategy[list[bytes]], look: Callable[[list[bytes]], None], *, examples: int, seed: int) -> None:
    """Show `look` so many lists of requests.

    Raises:
        AssertionError: It found something; hypothesis has made it small.
    """
    played = settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    seeded(seed)(played(given(many)(look)))()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
