"""docs/features.md says of every numbered feature whether a test holds it."""

from __future__ import annotations

import pytest

from scripts.make_feature_docs import AREAS, LIMITS, PAGE, numbered_tests, numbers_in, page


def test_the_page_of_features_is_up_to_date() -> None:
    """Run `make diagrams` when this fails."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_number_has_its_line_once_and_in_order() -> None:
    numbers = [int(line.partition(" ")[0]) for lines in AREAS.values() for line in lines.strip().splitlines()]
    assert numbers == list(range(1, 146))
    assert set(numbered_tests()) <= set(numbers)
    assert set(numbers) >= LIMITS


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [("R46, R48-R50; P8.", [46, 48, 49, 50]), ("R94-102", [*range(94, 103)]), ("CR46, R, 12 cases", []), ("", [])],
)
def test_numbers_are_read_out_of_a_docstring_as_a_reader_would(docstring: str, expected: list[int]) -> None:
    assert list(numbers_in(docstring)) == expected
