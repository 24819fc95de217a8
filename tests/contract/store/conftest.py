"""Most tests here are about SQLite's file; those of the named queries run on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.store import Store
from tests.helpers.stored import opened

_ON_BOTH = ("test_rows", "test_counts", "test_share_rows", "test_threads")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runner.db"


@pytest.fixture
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    elsewhere = getattr(request, "param", "sqlite") == "postgresql"
    with opened(request.getfixturevalue("postgres").emptied() if elsewhere else path) as store:
        yield store


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" in metafunc.fixturenames and metafunc.module.__name__.endswith(_ON_BOTH):
        metafunc.parametrize("store", ["sqlite", "postgresql"], indirect=True)
