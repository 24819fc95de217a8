"""What became of a script: its own words, its end, what it cost others. Pure.

A fixed script tells itself what it got hold of; what it changed, reached or cost is judged from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from runner.supervisor.escape.neighbour import Measure
from runner.supervisor.escape.scripts import Ends, EscapeScript
from runner.supervisor.escape.standins import UNASKED

#: Seconds after which a script that has not ended is ended; a flood is cut long before.
PATIENCE = 25.0
#: A script's output is kept up to here, to look for the secret in it.
_KEPT = 256 * 1024
#: How many times as long as beside a script that does nothing, in the same run: another run's round trip, and the longest that
#: nothing else got its turn. What is shorter than the least that counts is taken for it.
SLOWER, LONGER = 50.0, 40.0
_LEAST_LATENCY, _LEAST_STALL = 0.004, 0.02
#: What this process may grow by: MiB, file handles. At the gateway one body of 32 MiB is read at a time, which takes some 150.
MEMORY, BODY, HANDLES = 64, 208, 64
#: Seconds that a person who waits for an answer notices; asked of the operator's own host only.
NOTICED = 2.0


class Verdict(Enum):
    """What became of a script."""

    HELD = "held"
    OUT = "out"  #: something got out, or was not bounded
    VOID = "void"  #: it tried nothing, so that it says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One script's outcome."""

    script: EscapeScript
    verdict: Verdict
    found: tuple[str, ...]
    measure: Measure | None = None
    calm: Measure | None = None  #: the same beside a script that does nothing
    note: str = ""  #: how its conversation ended, for one that had any


@dataclass(slots=True)
class Heard:
    """What a container said, up to a bound."""

    text: bytes = b""
    ended: bool = False
    note: str = ""

    def keep(self, data: bytes) -> None:
        """Some more."""
        self.text += data[: max(0, _KEPT - len(self.text))]

    @property
    def lines(self) -> list[str]:
        """Its lines, as far as they were kept."""
        return self.text.decode("utf-8", "replace").splitlines()


def told(script: EscapeScript, heard: Heard, *, token: str) -> list[str]:
    """What a script's own words and its end give away."""
    found = [line.removeprefix("OUT ")[:200] for line in heard.lines if line.startswith("OUT ")]
    if token in heard.text.decode("utf-8", "replace"):
        found.append("the host's secret was read")
    if not heard.ended:
        found.append(f"it had not ended after {PATIENCE:g} seconds")
    said = "DONE" in heard.lines
    if script.ends is Ends.DONE and not said:
        found.append("it did not come to its end, and so shows nothing")
    if script.ends is Ends.CUT and heard.note.startswith(UNASKED):
        found.append("it was not asked anything, and so shows nothing")
    if script.ends is Ends.KILLED and said:
        found.append("it was not stopped")
    return found


def costs(script: EscapeScript, measure: Measure | None, *, calm: Measure | None, noticed: float | None = None) -> list[str]:
    """What a script may not cost those beside it.

    Args:
        script: Which.
        measure: Beside the script.
        calm: Beside a script that does nothing.
        noticed: Seconds that are too long by themselves; None: only compared.
    """
    if measure is None or calm is None:
        return []
    found = []
    slower = measure.latency / max(calm.latency, _LEAST_LATENCY)
    longer = measure.stall / max(calm.stall, _LEAST_STALL)
    if slower > SLOWER:
        found.append(f"another run was {slower:.0f} times slower")
    if longer > LONGER or (noticed is not None and measure.stall > noticed):
        found.append(f"nothing else got its turn for {measure.stall:.1f} seconds, {longer:.0f} times as long as beside nothing")
    if measure.memory > (BODY if script.kind == "gateway" else MEMORY):
        found.append(f"the supervisor grew by {measure.memory} MiB")
    if measure.handles > HANDLES:
        found.append(f"the supervisor held {measure.handles} more handles")
    return found


def result_of(
    script: EscapeScript, heard: Heard, *, faults: Sequence[str], measure: Measure | None, calm: Measure | None = None
) -> Result:
    """The verdict: one fault is enough to be out."""
    void = [line.removeprefix("VOID ") for line in heard.lines if line.startswith("VOID ")]
    verdict = Verdict.OUT if faults else Verdict.VOID if void else Verdict.HELD
    found = tuple(faults or void)
    return Result(script=script, verdict=verdict, found=found, measure=measure, calm=calm, note=heard.note)
