"""A supervisor per test, and the promise that nothing of it is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.sandbox.engine import ImageInfo
from tests.helpers.supervisor_process import SupervisorProcess


@pytest.fixture
def supervisor(tmp_path: Path, sandbox_image: ImageInfo) -> Iterator[SupervisorProcess]:
    """A supervisor that is not started yet; afterwards it is stopped, and no container or attempt's folder is left."""
    process = SupervisorProcess(tmp_path / "home")
    yield process
    process.stop()
    assert process.containers() == []
    attempts = process.state / "attempts"
    assert not attempts.exists() or list(attempts.iterdir()) == []
