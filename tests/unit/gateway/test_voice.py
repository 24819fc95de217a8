"""Where a result ends and the CLI's voice begins, in a text that was made to be looked at for long (M6)."""

from __future__ import annotations

import time

import pytest

from runner.gateway.voice import without_voice

OPEN, CLOSE = "<system-reminder>", "</system-reminder>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"found\n\n{OPEN}\nx\n{CLOSE}", "found"),
        (f"found {OPEN}x{CLOSE} \n{OPEN}y{CLOSE}\n", "found"),
        (f"found{' ' * 300}{OPEN}x{CLOSE}{' ' * 300}", "found"),
        (f"found {OPEN}x{CLOSE} and more", f"found {OPEN}x{CLOSE} and more"),
        (f"found {OPEN}x{CLOSE}{CLOSE}", f"found {OPEN}x{CLOSE}{CLOSE}"),
        (f"  \n{OPEN}x{CLOSE}", f"  \n{OPEN}x{CLOSE}"),
        (f"{OPEN}x{CLOSE} {OPEN}y{CLOSE}", f"{OPEN}x{CLOSE}"),
        (f"found {CLOSE}", f"found {CLOSE}"),
        ("found \n", "found"),
        (" \n", ""),
        ("", ""),
    ],
)
def test_a_result_ends_in_front_of_the_reminders_behind_it(text: str, said: str) -> None:
    assert without_voice(text) == said


@pytest.mark.parametrize("one", [f"{OPEN}x{CLOSE}", f"{OPEN}\nx\n{CLOSE}\n\n", f"{OPEN}{' ' * 200}{CLOSE}"])
def test_many_reminders_cost_what_few_do_each(one: str) -> None:
    """A ratio of two lengths in one run: eight times as many take eight times as long, not sixty-four."""

    def seconds(many: int) -> float:
        text, best = "found" + one * many, 1e9
        for _ in range(3):
            began = time.process_time()
            assert without_voice(text) == "found"
            best = min(best, time.process_time() - began)
        return best

    assert seconds(32_000) < 24 * max(seconds(4_000), 1e-3)
