from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.store import Store
from tests.helpers.stored import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runner.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with opened(path) as store:
        yield store
