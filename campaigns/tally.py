"""What a campaign counts, and its table: all zeros in the last columns is the goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from runner.model import JsonObject


@dataclass
class Count:
    """What was done to the supervisor, and what went wrong.

    `faults`: how often something was killed, stopped, filled up or set; `missed`: how often the fault did not come about, which
    proves nothing. The others are what must never be.
    """

    faults: int = 0
    missed: int = 0
    lost_runs: int = 0
    lost_approvals: int = 0
    doubled: int = 0
    unapproved: int = 0
    containers: int = 0
    audit: int = 0

    @property
    def clean(self) -> bool:
        """The fault came about, and nothing went wrong."""
        return not any(value for name, value in asdict(self).items() if name != "faults")

    def add(self, other: Count) -> None:
        """Sum up."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


#: A column's name, and its heading.
HEADINGS: Mapping[str, str] = {
    "faults": "faults",
    "missed": "missed",
    "lost_runs": "runs lost",
    "lost_approvals": "approvals lost",
    "doubled": "done twice",
    "unapproved": "not approved",
    "containers": "containers left",
    "audit": "audit broken",
}


def table(rows: Mapping[str, Count]) -> str:
    """The table as text, with a line for the sum."""
    total = Count()
    for count in rows.values():
        total.add(count)
    lines = [f"{'':34}" + "".join(f"{heading:>{len(heading) + 2}}" for heading in HEADINGS.values())]
    for name, count in {**rows, "all": total}.items():
        cells = (f"{getattr(count, field):>{len(heading) + 2}}" for field, heading in HEADINGS.items())
        lines.append(f"{name:34}" + "".join(cells))
    return "\n".join(lines)


def document(rows: Mapping[str, Count]) -> JsonObject:
    """The table for programs."""
    return {name: asdict(count) for name, count in rows.items()}
