"""runc's published holes, by version string as engines and distributions write them (issue 3 item 3)."""

from __future__ import annotations

import pytest

from runner.supervisor.runtimes import HOLES, Exposure, exposures, parse_version

F, X, D = Exposure.FIXED, Exposure.OPEN, Exposure.DISTRIBUTION


@pytest.mark.parametrize(
    ("version", "first", "later"),
    [
        ("1.0.0", X, X),
        ("1.1.11", X, X),
        ("1.1.12", F, X),
        ("1.1.15", F, X),
        ("1.2.0-rc.1", F, X),
        ("1.2.7", F, X),
        ("1.2.8", F, F),
        ("v1.2.9", F, F),
        ("1.3.2", F, X),
        ("1.3.3", F, F),
        ("1.4.0-rc.2", F, X),
        ("1.4.0-rc.3", F, F),
        ("1.4.0", F, F),
        ("1.10.0", F, F),
        ("2.0.0", F, F),
        ("1.1.5+ds1-1+deb12u1", F, D),
        ("1.1.5+ds1-1+deb12u2", F, D),
        ("1.1.5+ds1-1+deb12u0", X, D),
        ("1.1.5+ds1-4", D, D),
        ("1.1.12-0ubuntu2~22.04.1", F, D),
        ("1.3.3+ds1-2", F, F),
    ],
)
def test_a_version_says_which_holes_it_has(version: str, first: Exposure, later: Exposure) -> None:
    found = exposures(version)
    assert found is not None
    assert found == {hole.id: first if hole.id == "CVE-2024-21626" else later for hole in HOLES}


@pytest.mark.parametrize("text", ["", "unknown", "v", "59923ef1", "1.2", "x1.2.3"])
def test_what_is_no_version_says_nothing(text: str) -> None:
    assert (parse_version(text), exposures(text)) == (None, None)


def test_a_candidate_comes_before_its_release() -> None:
    found = [parse_version(text) for text in ("1.4.0-rc.2", "1.4.0-rc.10", "1.4.0", "1.4.1-rc.1", "1.4.1")]
    assert found == sorted(found, key=lambda version: version or (0, 0, 0, 0))
    assert len(set(found)) == len(found)
