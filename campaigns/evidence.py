"""Runs the commands that measure, shows what they print, and puts it into docs/evidence.md.

Usage: python -m campaigns.evidence [--write-docs] [NAME…]; without names all but the benchmarks, which need a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence.md"
_PYTHON = (sys.executable, "-m")
#: Name → the command a person runs, and the same as words.
COMMANDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "calls": ("make calls", (*_PYTHON, "campaigns.calls")),
    "wall": ("make wall", (*_PYTHON, "campaigns.wall")),
    "escape": ("make escape", (*_PYTHON, "runner", "doctor", "--escape")),
    "layers": ("make layers", (*_PYTHON, "campaigns.layers")),
    "start": ("python -m benchmarks.start", (*_PYTHON, "benchmarks.start")),
    "gateway": ("python -m benchmarks.gateway", (*_PYTHON, "benchmarks.gateway")),
    "ingress": ("python -m benchmarks.ingress", (*_PYTHON, "benchmarks.ingress")),
}
BENCHMARKS = ("start", "gateway", "ingress")


def run(words: tuple[str, ...]) -> tuple[int, str]:
    """Run a command and show its output as it comes."""
    said = []
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            said.append(line.rstrip())
    return process.returncode, "\n".join(said).strip()


def put(page: str, name: str, *, output: str, code: int) -> str:
    """The page with a command's output in the place of the former one's.

    Raises:
        ValueError: The page has no place for it.
    """
    begin, end = f"<!-- {name}: made by make evidence -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for {name}")
    command = COMMANDS[name][0]
    block = f"`{command}` at commit {_commit()} on {os.cpu_count()} cores, exit code {code}:\n\n```\n{output}\n```\n"
    return f"{before}{begin}{block}{end}{after}"


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = " with uncommitted changes" if git("status", "--porcelain", "--untracked-files=no", "--", ":!docs") else ""
    return f"{git('rev-parse', '--short', 'HEAD') or 'unknown'}{changed}"


def main() -> int:
    """Run what was named; 1 when one of them ends with an error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", choices=[[], *COMMANDS], help="which; without any all but the benchmarks")
    parser.add_argument("--write-docs", action="store_true", help="put what they print into docs/evidence.md")
    options = parser.parse_args()
    worst = 0
    for name in options.names or [one for one in COMMANDS if one not in BENCHMARKS]:
        print(f"== {COMMANDS[name][0]}", flush=True)
        code, said = run(COMMANDS[name][1])
        worst = max(worst, int(code != 0))
        if options.write_docs:
            PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), name, output=said, code=code), encoding="utf-8")
    return worst


if __name__ == "__main__":
    sys.exit(main())
