"""What doctor sees of containers: one that hangs is found as such, and several that hang take no longer than one (issue 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.errors import SandboxUnavailableError
from runner.supervisor.facts import containers
from runner.supervisor.health import Container


class Stubborn:
    """An engine with these containers; it says nothing of one whose description is missing, until all were asked about."""

    def __init__(self, **described: dict[str, Any] | None) -> None:
        self.described = described
        self.asked = 0
        self.all_asked = asyncio.Event()

    async def find(self, labels: Mapping[str, str | None]) -> tuple[str, ...]:
        """All of them."""
        assert labels == {"runner.state": "mine"}
        return tuple(self.described)

    async def inspect(self, container: str) -> dict[str, Any] | None:
        """As it is described."""
        self.asked += 1
        if self.asked == len(self.described):
            self.all_asked.set()
        found = self.described[container]
        if found is None:
            await self.all_asked.wait()
            raise SandboxUnavailableError("cannot look at the container: the engine did not answer")
        return found or None

    async def remove(self, container: str) -> None:
        """Never asked."""
        raise AssertionError(container)

    kill = remove


def a_container(state: str, age: float | None = 0.0) -> dict[str, Any]:
    made = "" if age is None else f"{(datetime.now(UTC) - timedelta(seconds=age)).replace(tzinfo=None).isoformat()}123Z"
    return {"State": {"Status": state}, "Created": made}


def seen(**described: dict[str, Any] | None) -> dict[str, str]:
    async def look() -> tuple[Container, ...]:
        return await asyncio.wait_for(containers(Stubborn(**described), "mine"), 20)

    return {one.id: one.state for one in asyncio.run(look())}


def test_one_whose_start_hangs_is_stuck_whether_the_engine_says_nothing_of_it_or_that_it_was_made() -> None:
    """Issue 7 item 4: named by doctor; one that is being made right now is not."""
    assert seen(
        old=a_container("created", 600.0), new=a_container("created", 3.0), silent=None, runs=a_container("running", 9000.0)
    ) == {"old": "stuck", "new": "created", "silent": "dead", "runs": "running"}


def test_several_that_hang_are_asked_about_at_once() -> None:
    assert seen(a=None, b=None, c=None) == {"a": "dead", "b": "dead", "c": "dead"}


def test_one_that_has_gone_or_says_no_age_is_not_stuck() -> None:
    assert seen(gone={}, odd=a_container("created", None)) == {"odd": "created"}
