"""An outside judge of the record: `agentack check` on what `runner audit export --format agentack` writes (A4)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from runner.api import auditing
from runner.render import json_document
from runner.store.offline import looking


class Judgement(NamedTuple):
    """The judge's word: PASS, FAIL or INCOMPLETE, its exit code, and which rules were broken."""

    status: str
    code: int
    rules: frozenset[str]
    said: str


def export(database: Path, trace: Path, run: str | None = None) -> None:
    """Write the trace of a database, as the command does."""
    with looking(database) as rows:
        lines = [json_document(one, compact=True) for one in auditing.trace_documents(rows, run)]
    trace.write_text("".join(lines))


def judge(trace: Path) -> Judgement:
    """Have the checker read a trace in a process of its own."""
    report = trace.with_suffix(".report")
    ended = subprocess.run(
        [sys.executable, "-m", "agentack", "check", str(trace), "--json", str(report)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), ended.stdout + ended.stderr
    found = json.loads(report.read_text())
    result = found.get("result", found)
    return Judgement(result["status"], ended.returncode, frozenset(result["rule_counts"]), ended.stdout)
