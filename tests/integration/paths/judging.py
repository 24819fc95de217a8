"""What the decision says of a case beside what a process in the container got, and where the two disagree."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from runner.model import Decision, Profile, Verdict
from runner.paths import DirectoryView
from runner.policy import PolicyContext, decide
from tests.helpers.builders import a_call
from tests.helpers.oracle_world import Grown
from tests.integration.paths.container import Got

#: What `String.prototype.trim` takes off, written out once more so that the judge does not lean on the judged.
_TRIMMED = "".join(
    map(chr, (*range(9, 14), 32, 160, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF))
)
#: Refusals that may meet a path although a process could open it and arrive inside: each is a rule of its own.
BY_DESIGN = frozenset(
    [
        *("outside", "kernel_path"),  # it leaves on its way, and comes back
        *("blank_edges", "home_path", "variable_in_path", "url_as_path", "path_too_long", "ambiguous_path", "nul_in_path"),
        *("hard_link", "special_file", "hidden", "protected", "empty_path"),
        *("not_a_file", "not_a_directory"),  # the tool wants the other
    ]
)
TOOLS = ("Read", "Read", "Read", "Write", "Edit", "Grep", "Glob")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One argument; `plain` is the file it plainly names, if it does."""

    tool: str
    text: str
    plain: str | None = None

    def input(self) -> dict[str, str]:
        """The call's input."""
        rest = {
            "Read": {},
            "Write": {"content": "x"},
            "Edit": {"old_string": "a", "new_string": "b"},
            "Grep": {"pattern": "x"},
            "Glob": {"pattern": "*"},
        }
        return {"path" if self.tool in ("Grep", "Glob") else "file_path": self.text, **rest[self.tool]}

    def spellings(self) -> tuple[str, str]:
        """The path as the CLI collapses it, and as it is written."""
        trimmed = self.text.strip(_TRIMMED)
        if trimmed == "~" or trimmed.startswith("~/"):
            trimmed = "/home/agent" + trimmed[1:]
        collapsed = "/" + posixpath.normpath(posixpath.join("/workspace", trimmed)).lstrip("/")
        return collapsed, posixpath.join("/workspace", self.text)


@dataclass(slots=True)
class Tally:
    """What was seen. `unsafe` and `over_denied` must stay empty."""

    cases: int = 0
    unsafe: list[str] = field(default_factory=list)
    over_denied: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    arrived: Counter[str] = field(default_factory=Counter)


Judge = Callable[[Case, Profile, DirectoryView], Decision]


def the_gate(case: Case, profile: Profile, view: DirectoryView) -> Decision:
    """The product's own decision, in an owner's clean run."""
    return decide(a_call(case.tool, dict(case.input())), profile, PolicyContext(view=view, tainted=False))


def a_case(random: Random, text: str, plain: str | None) -> Case:
    """A case for one of the tools; a plain file is read."""
    return Case(tool="Read" if plain else random.choice(TOOLS), text=text, plain=plain)


def compare(case: Case, decision: Decision, got: tuple[Got, Got, Got], tree: Grown, tally: Tally) -> None:
    """Hold one decision against what the collapsed text, the written text and the proven path open."""
    tally.cases += 1
    tally.verdicts[decision.rule if decision.verdict is Verdict.DENY else decision.verdict.value] += 1
    for seen in got[:2]:
        tally.arrived["nowhere" if seen.kind == "none" else "inside" if _inside(seen.place) else "outside"] += 1
    if decision.verdict is Verdict.DENY:
        fault = _over_denial(case, decision, got)
        if fault:
            tally.over_denied.append(f"{case!r}: {fault}: {decision.rule}")
        return
    fault = _unsafe(case, decision, got, tree.content)
    if fault:
        tally.unsafe.append(f"{case!r}: {fault}: {decision.paths!r} {got!r}")


def _inside(place: str) -> bool:
    return place == "/workspace" or place.startswith("/workspace/")


def _unsafe(case: Case, decision: Decision, got: tuple[Got, Got, Got], content: Mapping[str, bytes]) -> str | None:
    """Why what was let through is not what a process opens."""
    if len(decision.paths) != 1 or not _inside(str(decision.paths[0].resolved)):
        return "no path proven inside"
    proven = str(decision.paths[0].resolved)
    if got[2].kind == "astray":
        return "what was proven has a link in it"
    existing = proven == got[2].place
    for seen in (seen for seen in got[: 3 if existing else 2] if seen.kind != "none"):
        if seen.place != proven:
            return "opens something else than what was proven"
        if seen.kind == "other" or (seen.kind == "directory" and case.tool not in ("Grep", "Glob")):
            return "opens no file"
        if seen.kind == "file" and (seen.names > 1 or seen.head != content.get(proven.removeprefix("/workspace/"))):
            return "reads other bytes"
    return None


def _over_denial(case: Case, decision: Decision, got: tuple[Got, Got, Got]) -> str | None:
    """Why what was refused should not have been."""
    if case.plain is not None:
        return "a plain file by a plain name"
    arrived = {seen.place for seen in got[:2] if seen.kind in ("file", "directory") and _inside(seen.place)}
    both = all(seen.kind != "none" for seen in got[:2]) and len(arrived) == 1
    return "both spellings arrive inside" if both and decision.rule not in BY_DESIGN else None
