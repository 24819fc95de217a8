"""What holds for every tier."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.helpers.postgres import Cluster, cluster
from tests.helpers.sandbox_fixtures import engine, sandbox_image

__all__ = ["engine", "sandbox_image"]

# How long an example takes says something about the machine, not about the code: no test here depends on a clock.
settings.register_profile("runner", deadline=None)
settings.load_profile("runner")

# A shell starts what runs in its background deaf to Ctrl-C, and programs pass that on: what tests start has to hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """One PostgreSQL for all tests of this process that ask for it."""
    with cluster() as found:
        yield found
