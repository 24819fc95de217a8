"""The layer table: each layer alone, the others replaced in a test's own process, against what it has to stop (M3).

Runs the layer tests with the real CLI in the real container. A test that fails, or that is not there, is an attack that got
through. Usage: python -m campaigns.layers
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("gateway", "gate", "wall", "broker")
_LAYERS = "tests/integration/agent/test_layers.py::"
_HOSTILE = "tests/integration/agent/test_hostile_process.py::"
_ALL_THREE = f"{_LAYERS}test_the_gate_alone_stops_all_three_and_reports_them"
_READ = f"{_LAYERS}test_the_gateway_alone_stops_what_a_read_has_found_that_was_not_let_run"
#: What is tried, and for each layer that has to stop it by itself the test that looks.
ATTACKS: Mapping[str, Mapping[str, str]] = {
    "a call of a tool nobody declared": {
        "gateway": f"{_LAYERS}test_the_gateway_alone_stops_an_undeclared_call_and_reports_it",
        "gate": _ALL_THREE,
    },
    "a read that a rule blocks": {"gateway": f"{_READ}[blocked]", "gate": _ALL_THREE},
    "a read that a person has not let run": {"gateway": f"{_READ}[unapproved]"},
    "a write that nobody approved": {
        "gateway": f"{_LAYERS}test_the_gateway_alone_stops_an_outcome_nobody_approved_and_reports_it",
        "gate": _ALL_THREE,
    },
    "calls that no gateway told of": {
        "gate": f"{_LAYERS}test_the_gate_alone_stops_calls_of_which_no_gateway_told_it",
    },
    "a hostile process that asks nobody": {"wall": f"{_HOSTILE}test_the_wall_alone_lets_nothing_happen"},
    "tools called past hook and callback": {
        "broker": f"{_HOSTILE}test_the_broker_alone_lets_nothing_happen_but_what_a_person_approved_and_that_once"
    },
}
#: Were this stopped too, the rest would show nothing.
CONTROL = ("a read that is allowed", "gateway", f"{_LAYERS}test_the_gateway_alone_lets_a_read_be_that_is_allowed")
STOPPED, THROUGH, LET, NONE = "stopped", "GOT THROUGH", "let be", "-"


class _Outcomes:
    """What became of each test."""

    def __init__(self) -> None:
        self.passed: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test passed when each of its three phases did."""
        self.passed[report.nodeid] = self.passed.get(report.nodeid, True) and report.passed


def played() -> Mapping[str, bool]:
    """Run all of them; what pytest says is kept for when one fails."""
    outcomes, said = _Outcomes(), io.StringIO()
    wanted = dict.fromkeys([CONTROL[2], *(test for tests in ATTACKS.values() for test in tests.values())])
    with contextlib.redirect_stdout(said):
        code = pytest.main(
            ["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *(f"{ROOT}/{test}" for test in wanted)], [outcomes]
        )
    if code:
        print(said.getvalue(), file=sys.stderr)
    return outcomes.passed


def table(passed: Mapping[str, bool]) -> tuple[str, int]:
    """The table, and how many attacks got through."""
    lines = [f"{'attack':38}" + "".join(f"{layer:>13}" for layer in LAYERS)]
    through = 0
    for attack, tests in ATTACKS.items():
        cells = {layer: STOPPED if passed.get(test) else THROUGH for layer, test in tests.items()}
        through += sum(cell == THROUGH for cell in cells.values())
        lines.append(f"{attack:38}" + "".join(f"{cells.get(layer, NONE):>13}" for layer in LAYERS))
    name, layer, test = CONTROL
    fine = bool(passed.get(test))
    through += not fine
    lines.append(f"{name:38}" + "".join(f"{(LET if fine else 'STOPPED') if one == layer else NONE:>13}" for one in LAYERS))
    return "\n".join(lines), through


def main() -> int:
    """Print the table; 1 when anything got through."""
    shown, through = table(played())
    print(shown)
    cells = sum(len(tests) for tests in ATTACKS.values())
    print(f"\n{through} of {cells} got through a layer that stood alone; in each column the other layers are off")
    return 1 if through else 0


if __name__ == "__main__":
    sys.exit(main())
