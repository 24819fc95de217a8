"""A run of the fault campaign as a document, and as the result block of docs/faults.md."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from campaigns.playing import Found
from campaigns.tally import Count, document, table
from runner.model import JsonObject

BEGIN, END = "<!-- faults: what make faults printed -->\n", "<!-- end of faults -->"
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a run."""

    rows: Mapping[str, Count]
    found: Found
    seed: int
    minutes: float
    workers: int

    @property
    def kills(self) -> int:
        """How often a supervisor was killed."""
        return sum(count.faults for name, count in self.rows.items() if name.startswith("kill"))

    def document(self) -> JsonObject:
        """All of it, each failpoint by itself."""
        each: dict[str, Count] = {}
        for kind, what, count in self.found:
            each.setdefault(f"{kind} / {what}", Count()).add(count)
        return {
            "seed": self.seed,
            "kills": self.kills,
            "minutes": round(self.minutes, 1),
            "rows": document(self.rows),
            "each": document(each),
        }

    def into(self, page: str) -> str:
        """The page with this run's result in the place of the former one's.

        Raises:
            ValueError: The page has no place for it.
        """
        before, rest = page.split(BEGIN, 1)
        _, after = rest.split(END, 1)
        return f"{before}{BEGIN}{self._block()}{END}{after}"

    def _block(self) -> str:
        commit = _git("rev-parse", "--short", "HEAD") or "unknown"
        changed = " with uncommitted changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
        head = (
            f"Commit {commit}{changed}, seed {self.seed}: {self.kills} kills in {self.minutes:.0f} minutes with {self.workers} "
            f"workers on {os.cpu_count()} cores, all faults together.\n\n"
        )
        bad = [f"- {kind}: {what}\n" for kind, what, count in self.found if not count.clean]
        said = f"What was not all zeros:\n\n{''.join(bad)}\n" if bad else ""
        return f"{head}{said}```\n{table(self.rows)}\n```\n"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
