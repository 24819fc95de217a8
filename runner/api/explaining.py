"""What `runner explain` answers: the gate's own decision, without running anything and without a supervisor.

Owns where the profile and the owner's choices come from, and the shape of the answer. Imports nothing slow: no SQLAlchemy, no
engine, no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from runner.digest import parse_call
from runner.errors import NotFoundError, RunnerError, UsageError
from runner.model import Decision, Json, JsonObject, Policy, Profile, SenderKind, ToolCall
from runner.paths import DirectoryView
from runner.policy import Cell, PolicyContext, decide, explain_matrix, profile_name
from runner.policy.judge import find_tool
from runner.profiles import from_json, load
from runner.profiles.examples import EmptyDirectory
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView
from runner.settings import Settings
from runner.store.chosen import Choices
from runner.store.offline import looking, place_of

_NAME = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A profile, and the owner's choices that bind its agent."""

    profile: Profile
    chosen: Choices
    ceiling: Policy  #: this host's


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The decision about one call, and the context it was taken in."""

    call: ToolCall
    decision: Decision
    context: PolicyContext

    def document(self) -> JsonObject:
        """The contract's JSON (cli.md)."""
        decision = self.decision
        return {
            "verdict": decision.verdict.value,
            "rank": decision.rank,
            "rule": decision.rule,
            "reason": decision.reason,
            "strict": decision.strict,
            "tool": find_tool(self.call.tool, self.context).metadata(),
            "paths": [{"asked": path.asked, "resolved": str(path.resolved)} for path in decision.paths],
            "digest": decision.call_digest,
        }


def subject_of(reference: str, settings: Settings) -> Subject:
    """The profile in a file, or the published one of that name.

    A file is judged with the owner's default policy and no saved verdict: those belong to a published agent.

    Raises:
        NotFoundError: No such file and no such published name.
        ProfileError: The file is no profile.
        StoreError: The database cannot be read.
    """
    path, database = Path(reference), place_of(settings.database_url.get_secret_value())
    if _means_file(reference, path):
        return Subject(profile=_on_host(load(path), settings), chosen=_defaults(database), ceiling=settings.max_policy)
    if _NAME.fullmatch(reference) is None:
        raise NotFoundError(
            f"cannot find profile {reference[:200]}: no such file, and it is no name", resolution="name a TOML file"
        )
    with looking(database) as rows:
        profile = _on_host(from_json(json.loads(rows.profile(reference))), settings)
        return Subject(profile=profile, chosen=rows.choices(reference), ceiling=settings.max_policy)


def _on_host(profile: Profile, settings: Settings) -> Profile:
    """The profile as its runs have it here: strict where the host says so (R33)."""
    return replace(profile, strict=profile.strict or settings.strict)


def published(settings: Settings) -> tuple[Profile, ...]:
    """Every agent's published profile, as far as it can be read here; for warnings only."""
    database = place_of(settings.database_url.get_secret_value())
    try:
        if isinstance(database, Path) and not database.exists():
            return ()
        with looking(database) as rows:
            return tuple(from_json(json.loads(text)) for text in rows.profiles())
    except RunnerError:
        return ()


@contextmanager
def viewing(folder: Path) -> Iterator[DirectoryView]:
    """The directory as the gate would judge it; one that does not exist is judged as if it were empty."""
    try:
        beneath = Beneath.open(folder)
    except FileNotFoundError:
        yield EmptyDirectory()
        return
    except OSError as error:
        raise UsageError(
            f"cannot look into {folder}: {error.strerror}", resolution="name another directory with --cwd"
        ) from None
    with beneath:
        yield SnapshotView(beneath)


def context_of(subject: Subject, view: DirectoryView, *, sender: SenderKind, tainted: bool, sensitive: bool) -> PolicyContext:
    """The context of a call; a contact's run is tainted by what it carries (C8)."""
    base = PolicyContext(view=view, sender=sender, tainted=tainted or sender is not SenderKind.OWNER, sensitive=sensitive)
    return subject.chosen.into(base, host=subject.ceiling)


def call_of(tool: str, text: str) -> ToolCall:
    """The call as the gate would be asked about it, under either of the tool's names.

    Raises:
        UsageError: The text is no JSON object at all; one that is merely wrong inside is for the gate to refuse.
    """
    if not _is_object(text):
        raise UsageError(
            "cannot explain the call: its input is no JSON object", resolution="""such as '{"file_path": "notes.md"}'"""
        )
    return parse_call(profile_name(tool) or tool, text)


def explain(call: ToolCall, profile: Profile, context: PolicyContext) -> Explained:
    """The gate's decision about one call."""
    return Explained(call=call, decision=decide(call, profile, context), context=context)


def matrix_document(profile: Profile, cells: tuple[Cell, ...]) -> JsonObject:
    """Every tool in every kind of run, as JSON."""
    rows: dict[str, JsonObject] = {}
    for cell in cells:
        row = rows.setdefault(cell.tool, {"tool": cell.tool})
        row[cell.column.value] = {"verdict": cell.verdict.value, "word": cell.word}
    matrix: list[Json] = [*rows.values()]
    return {"profile": profile.name, "digest": profile.digest, "strict": profile.strict, "matrix": matrix}


def matrix(profile: Profile, context: PolicyContext) -> tuple[Cell, ...]:
    """Every tool of a profile in every kind of run."""
    return explain_matrix(profile, context)


def unattended(profile: Profile) -> Profile:
    """The same agent with nobody to answer."""
    return replace(profile, unattended=True)


def _means_file(reference: str, path: Path) -> bool:
    return "/" in reference or reference.endswith(".toml") or path.is_file()


def _defaults(database: Path | str) -> Choices:
    """The owner's default policy and ceiling; nothing was chosen where there is no database."""
    if isinstance(database, Path) and not database.exists():
        return Choices()
    with looking(database) as rows:
        return rows.choices("")


def _is_object(text: str) -> bool:
    """Whether a lenient reader takes the text for a JSON object."""
    try:
        found = json.loads(text, parse_int=len, parse_float=len)
    except ValueError:
        return False
    except RecursionError:
        return text.lstrip(" \t\r\n").startswith("{")
    return isinstance(found, dict)
