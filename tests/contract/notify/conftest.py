"""A store in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.store import Store
from tests.helpers.stored import opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "runner.db") as found:
        yield found
