"""The scripts of the escape suite as they are packaged: sandbox/escape/, each with what it tries and what must happen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from runner.errors import SandboxError
from runner.resources import escape_dir

_NAME = re.compile(r"(\d\d-[a-z0-9-]+)\.(sh|agent\.pl|pl)")
_FACT = re.compile(r"# (class|tries|must|ends|may): (.+)")
#: What a script may do: valid requests are for the model, and what they cost others is what is looked at.
_ASK = "ask the model"


class Ends(Enum):
    """How a script ends when the wall holds."""

    DONE = "done"  #: by itself, having said so
    KILLED = "killed"  #: by the kernel, before it could
    ANY = "any"  #: either way
    CUT = "cut"  #: it speaks the agent's protocol, and its conversation is ended


@dataclass(frozen=True, slots=True, kw_only=True)
class EscapeScript:
    """One thing that is tried."""

    id: str
    kind: str
    tries: str
    must: str
    ends: Ends
    language: str
    text: str  #: with its prelude
    asks: bool = False  #: its requests may be forwarded

    def argv(self, words: Sequence[str]) -> tuple[str, ...]:
        """The container's command; `words` are what the script is told of the host."""
        if self.language == "sh":
            return ("sh", "-c", self.text, self.id, *words)
        return ("perl", "-e", self.text, *words)


def escape_scripts() -> tuple[EscapeScript, ...]:
    """Every script, in order.

    Raises:
        SandboxError: A packaged file is missing or lacks a fact about itself.
    """
    folder = escape_dir()
    try:
        found = [(path, named) for path in sorted(folder.iterdir()) if (named := _NAME.fullmatch(path.name))]
        return tuple(_read(path, id=named[1], language=named[2]) for path, named in found)
    except (OSError, KeyError, ValueError) as error:
        raise SandboxError(
            "cannot read the escape suite", details=str(error), resolution="install the package again; it carries these files"
        ) from error


def _read(path: Path, *, id: str, language: str) -> EscapeScript:
    text = path.read_text(encoding="utf-8")
    facts = {key: value for line in text.splitlines() if (found := _FACT.fullmatch(line)) for key, value in [found.groups()]}
    prelude = (path.parent / f"prelude.{language}").read_text(encoding="utf-8")
    return EscapeScript(
        id=id,
        kind=facts["class"],
        tries=facts["tries"],
        must=facts["must"],
        ends=Ends(facts["ends"]),
        language=language,
        text=f"{prelude}\n{text}",
        asks=facts.get("may") == _ASK,
    )
