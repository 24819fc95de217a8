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
#: What a flood may cost: figures of a run that is served meanwhile, with room for a busy machine.
SLOWER, STALL, MEMORY, HANDLES = 200.0, 0.6, 256, 64


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


def costs(measure: Measure | None) -> list[str]:
    """What a script may not cost those beside it."""
    if measure is None:
        return []
    found = []
    if measure.slower > SLOWER:
        found.append(f"another run was {measure.slower:.0f} times slower")
    if measure.stall > STALL and measure.seconds > 2:
        found.append(f"nothing else got its turn for {measure.stall:.0%} of the time")
    if measure.memory > MEMORY:
        found.append(f"the supervisor grew by {measure.memory} MiB")
    if measure.handles > HANDLES:
        found.append(f"the supervisor held {measure.handles} more handles")
    return found


def result_of(script: EscapeScript, heard: Heard, *, faults: Sequence[str], measure: Measure | None) -> Result:
    """The verdict: one fault is enough to be out."""
    void = [line.removeprefix("VOID ") for line in heard.lines if line.startswith("VOID ")]
    verdict = Verdict.OUT if faults else Verdict.VOID if void else Verdict.HELD
    return Result(script=script, verdict=verdict, found=tuple(faults or void), measure=measure, note=heard.note)
