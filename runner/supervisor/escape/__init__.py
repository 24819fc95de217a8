"""The escape suite: a hostile process instead of the CLI, in the real container, judged from outside.

`runner doctor --escape` runs it on the operator's own host. It says how many of its scripts got out; what no script tries,
it says nothing about.
"""

from runner.supervisor.escape.judge import Result, Verdict
from runner.supervisor.escape.run import Stage, try_all
from runner.supervisor.escape.scripts import EscapeScript, escape_scripts

__all__ = ["EscapeScript", "Result", "Stage", "Verdict", "escape_scripts", "try_all"]
