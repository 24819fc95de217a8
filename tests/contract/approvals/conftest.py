"""The queue's promises hold on either database: every test with a store runs on both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.store import Store
from tests.helpers.stored import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runner.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    with opened(path if request.param == "sqlite" else request.getfixturevalue("postgres").emptied()) as store:
        yield store
