"""Public attack corpora and our own generated captures against fence, screen and decision: a table that must be all zeros.

Usage: python -m campaigns.corpora [--write]; `make corpora` fetches the packages first. `--write` puts the table into
docs/corpora.md. Nothing of the packages' data is kept in this repository.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from campaigns import made
from campaigns.judging import SIZES, a_capture_of, contexts, fence_fault, release_fault, screen_fault, uses_of
from runner.fence import escape
from runner.model import Json

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".corpora"
PAGE = ROOT / "docs/corpora.md"
MARKERS = ("<!-- corpora: made by make corpora -->", "<!-- end of corpora -->")
OWN = "made here: goals × carriers × transforms"  # noqa: RUF001 - it is a product
#: Texts that one process judges before it reports.
_CHUNK = 200
#: Format characters of Unicode that are drawn: number signs that stand before digits. Another package counts them too.
DRAWN = frozenset((*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))
Item = TypeVar("Item")


class Text(NamedTuple):
    """One text of a corpus; a label where the corpus has one."""

    corpus: str
    id: str
    text: str
    label: str = ""


@dataclass
class Found:
    """What was judged and what was wrong."""

    texts: int = 0
    fence: int = 0
    screen: int = 0
    released: int = 0
    benign: int = 0
    altered: int = 0

    def add(self, other: Found) -> None:
        """Sum up."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    @property
    def clean(self) -> bool:
        """Nothing was wrong."""
        return self.fence == self.screen == self.released == self.altered == 0


HEADINGS = ("texts", "fence broken", "screen untrue", "released unasked", "benign", "benign altered")


def texts(folder: Path = FOLDER) -> Iterator[Text]:
    """Every text that was collected."""
    with (folder / "strings.jsonl").open(encoding="utf-8") as file:
        for line in file:
            yield Text(**json.loads(line))


def judge(items: Sequence[Text]) -> tuple[dict[str, Found], list[str]]:
    """Count what is wrong with some texts, by corpus; and say of each what."""
    counts: dict[str, Found] = {}
    said = []
    for item in items:
        one = counts.setdefault(item.corpus, Found())
        faults = _faults(item.text)
        one.texts += 1
        one.fence += "fence" in faults
        one.screen += "screen" in faults
        one.released += "release" in faults
        one.benign += item.label == "benign"
        one.altered += item.label == "benign" and bool(faults.keys() - {"release"})
        said += [f"{item.corpus} {item.id}: {kind}: {what}" for kind, what in faults.items()]
    return counts, said


def _faults(text: str) -> Mapping[str, str]:
    found = {"fence": fence_fault(a_capture_of(text))}
    for columns, rows in SIZES:
        found["screen"] = found.get("screen") or screen_fault(text, columns=columns, rows=rows)
    for _, profile, context in contexts():
        for tool, arguments in uses_of(text):
            found["release"] = found.get("release") or release_fault(tool, arguments, profile=profile, context=context)
    return {kind: what for kind, what in found.items() if what}


def judge_made(captures: Iterable[made.Made]) -> tuple[Found, list[str]]:
    """The same of captures of our own: the whole prompt, and the goal's own call in every strict state."""
    total = Found()
    said: list[str] = []
    strict = [one for one in contexts() if one[0].startswith("strict")]
    for one in captures:
        goal = one.goal
        faults = {"fence": fence_fault(one.capture), "screen": None, "release": None}
        for columns, rows in SIZES:
            faults["screen"] = faults["screen"] or screen_fault(one.told, columns=columns, rows=rows)
        for _, profile, context in strict:
            fault = release_fault(goal.tool, goal.arguments, profile=profile, context=context)
            faults["release"] = faults["release"] or fault
        total.add(Found(1, *(bool(faults[kind]) for kind in ("fence", "screen", "release"))))
        said += [f"{one.name}: {kind}: {what}" for kind, what in faults.items() if what]
    return total, said


def judge_calls(calls: Sequence[Mapping[str, Json]]) -> tuple[dict[str, int], list[str]]:
    """How many of a benchmark's malicious calls run unasked, by state: a connector's tool, or the nearest of our own."""
    counts: dict[str, int] = {}
    said: list[str] = []
    for state, profile, context in contexts():
        faults = []
        for call in calls:
            for tool in (f"mcp__bench__{call['function']}", str(call["function"])):
                offered = replace(profile, tools=(*profile.tools, tool))
                fault = release_fault(tool, call["arguments"], profile=offered, context=context)
                faults += [f"{state}: {tool}: {fault}"] if fault else []
        counts[state] = len(faults)
        said += faults
    return counts, said


def judge_tables(classes: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """Code points that another package calls invisible and our fence leaves as they are, by its class."""
    return {
        kind: [f"U+{code:04X}" for code in codes if code not in DRAWN and escape(chr(code)) == chr(code)]
        for kind, codes in classes.items()
    }


def table(rows: Mapping[str, Found]) -> str:
    """The table, with a line for the sum, as Markdown."""
    total = Found()
    for one in rows.values():
        total.add(one)
    lines = ["| corpus | " + " | ".join(HEADINGS) + " |", "|---" * (len(HEADINGS) + 1) + "|"]
    for name, one in {**rows, "**all**": total}.items():
        lines.append(f"| {name} | " + " | ".join(f"{getattr(one, field.name):,}" for field in fields(one)) + " |")
    return "\n".join(lines)


def put(text: str, *, page: Path = PAGE) -> None:
    """Put the table between its markers."""
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKERS[0])
    _, _, after = rest.partition(MARKERS[1])
    page.write_text(f"{before}{MARKERS[0]}\n{text}\n{MARKERS[1]}{after}", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Judge everything; 0 when nothing was wrong."""
    rows, faults = _judged()
    calls = json.loads((FOLDER / "calls.json").read_text(encoding="utf-8"))
    states, said = judge_calls(calls)
    missed = judge_tables(json.loads((FOLDER / "tables.json").read_text(encoding="utf-8")))
    faults += said + [f"{kind}: {code} is not hidden" for kind, codes in missed.items() for code in codes]
    lines = [table(rows), ""]
    lines += [f"- AgentDojo's {len(calls)} malicious calls, {state}: {count} ran unasked" for state, count in states.items()]
    left = sum(map(len, missed.values()))
    lines.append(f"- invisible characters of unicode-smuggling-guard's tables that the fence leaves as they are: {left}")
    text = "\n".join(lines)
    sys.stdout.write(text + "\n")
    sys.stderr.write("".join(f"{fault}\n" for fault in faults[:50]))
    if "--write" in arguments and not faults:
        put(text)
    return 1 if faults else 0


def _judged() -> tuple[dict[str, Found], list[str]]:
    """Everything, on every core."""
    rows: dict[str, Found] = {}
    faults: list[str] = []
    with ProcessPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        own = [pool.submit(_judge_own, start) for start in range(0, made.COUNT, _CHUNK)]
        for counts, said in pool.map(judge, _chunks(texts())):
            faults += said
            for corpus, one in counts.items():
                rows.setdefault(corpus, Found()).add(one)
        for one, said in (each.result() for each in own):
            faults += said
            rows.setdefault(OWN, Found()).add(one)
    return dict(sorted(rows.items())), faults


def _judge_own(start: int) -> tuple[Found, list[str]]:
    """A part of our own captures, made where they are judged: they don't travel between processes."""
    return judge_made(islice(made.every(), start, start + _CHUNK))


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    found = iter(items)
    while chunk := list(islice(found, _CHUNK)):
        yield chunk


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
