"""Reading a profile file: bounded, strictly parsed, every problem named with its file, key and line."""

from __future__ import annotations

import re
import stat
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runner.errors import ProfileError
from runner.model import Profile
from runner.profiles.beyond import beyond
from runner.profiles.build import Problem, ProblemsError, build, further_problems
from runner.profiles.wire import MAX_PROMPT, ProfileTable
from runner.resources import profiles_dir

MAX_FILE = 256 * 1024

_KEYS = tuple(field.alias or name for name, field in ProfileTable.model_fields.items())
_KEY = re.compile(r"\s*([A-Za-z_]+)\s*=")
_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z_]+)\s*\]\]?")


def load(path: Path, *, shipped: bool = False) -> Profile:
    """The profile in a file.

    Args:
        path: The TOML file.
        shipped: Whether it came with the package, or is a copy of one that did; only then, and in the package's own folder, may
            `cwd` be `./…`, a folder beside the file.

    Raises:
        ProfileError: Names the file and the key.
    """
    text = _read(path, MAX_FILE, what=f"profile {path}")
    base = path.absolute().parent
    return parse(text, base=base, name_hint=str(path), shipped=shipped or base.resolve() == profiles_dir())


def parse(text: str, *, base: Path, name_hint: str = "profile", shipped: bool = False) -> Profile:
    """The profile in a TOML text.

    Args:
        text: The TOML.
        base: The folder that relative files are beside.
        name_hint: What to call it in errors.
        shipped: As for `load`.

    Raises:
        ProfileError: Names every problem with its key, and its line where it has one.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_FILE:
        raise _error(name_hint, f"it is larger than {MAX_FILE // 1024} KiB")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _error(name_hint, f"not TOML: {_brief(error)}") from None
    try:
        table = ProfileTable.model_validate(document)
        prompt = _prompt(table, base)
        return build(table, base=base, shipped=shipped, prompt=prompt)
    except ValidationError as error:
        formal = tuple(_problem(dict(item)) for item in error.errors(include_url=False, include_context=False))
        failed = {problem.key.partition(".")[0] for problem in formal}
        problems = (*formal, *further_problems(document, failed, base=base, shipped=shipped))
    except ProblemsError as error:
        problems = error.problems
    raise _problems_error(name_hint, text, problems)


def _read(path: Path, limit: int, *, what: str) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would never answer
            raise _error(what.removeprefix("profile "), "not a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable file name"
        raise ProfileError(f"cannot read {what}: {reason.lower()}", resolution="name a readable TOML file") from None
    if len(data) > limit:
        raise ProfileError(f"cannot use {what}: it is larger than {limit // 1024} KiB", resolution="shorten it")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProfileError(f"cannot use {what}: it is not UTF-8 text", resolution="save it as UTF-8") from None


def _prompt(table: ProfileTable, base: Path) -> str:
    if table.system_prompt is not None:
        return table.system_prompt
    name = Path(table.system_prompt_file or "")
    if name.is_absolute() or ".." in name.parts or name.parts[:1] == ("~",):
        raise ProblemsError((Problem(key="system_prompt_file", message="must be a file beside the profile"),))
    return _read(base / name, MAX_PROMPT, what=f"system_prompt_file {name}")


def _problem(item: dict[str, Any]) -> Problem:
    message = str(item["msg"]).removeprefix("Value error, ")
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in item["loc"])
    if item["type"] == "extra_forbidden":
        name = str(item["loc"][-1])
        message = beyond(name) or f"there is no such key{_meant(name)}"
    return Problem(key=key or "system_prompt", message=f"{message[:1].lower()}{message[1:]}")


def _meant(name: str) -> str:
    close = get_close_matches(name, _KEYS, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _problems_error(name: str, text: str, problems: tuple[Problem, ...]) -> ProfileError:
    lines = [f"{name}{_suffix(line_of(text, problem.key))}: {problem.key}: {problem.message}" for problem in problems]
    first = problems[0]
    return ProfileError(
        f"cannot use profile {name}: {first.key}: {first.message}",
        details="\n".join(lines),
        resolution="runner profile schema describes every key",
    )


def _error(name: str, cause: str) -> ProfileError:
    return ProfileError(f"cannot use profile {name}: {cause}", resolution="runner profile schema describes every key")


def _brief(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _suffix(line: int | None) -> str:
    return "" if line is None else f":{line}"


def line_of(text: str, key: str) -> int | None:
    """The line on which a key of a profile stands, where a plain look at the text finds it."""
    parts = key.split(".")
    table, wanted = ("", parts[0]) if len(parts) == 1 else (parts[0], parts[-1])
    current = ""
    fallback: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        header, entry = _TABLE.match(line), _KEY.match(line)
        if header is not None:
            current = header.group(1)
            fallback = fallback or (number if current == parts[0] else None)
        elif entry is not None and current == table and entry.group(1) == wanted:
            return number
        elif entry is not None and current == "" and entry.group(1) == parts[0]:
            fallback = fallback or number
    return fallback
