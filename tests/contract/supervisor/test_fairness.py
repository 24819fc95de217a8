"""The queue is fair among agents: a long line for one keeps out nobody else's (issue 7 item 5)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from runner.model import Attempt
from runner.store import Store
from runner.supervisor.dispatch import Dispatch
from tests.contract.supervisor.test_dispatch import an_attempt, enqueue, eventually, with_dispatch

#: Of each busy agent: that the quiet one's is taken by chance after all of them is one in millions.
MANY = 24


def test_two_agents_with_long_lines_fill_the_host_and_a_third_ones_run_is_taken_before_they_end(tmp_path: Path) -> None:
    """The host is full from its first moment on, so that every place goes to whoever the queue lets come next."""
    whose: dict[Attempt, str] = {}
    order: list[str] = []

    async def conduct(attempt: Attempt) -> bool:
        order.append(whose[attempt])
        await asyncio.sleep(0)
        return True

    async def scene(store: Store, dispatch: Dispatch) -> None:
        for agent, many in (("busy-a", MANY), ("busy-z", MANY), ("quiet", 1)):
            attempts = [an_attempt() for _ in range(many)]
            whose.update(dict.fromkeys(attempts, agent))
            await enqueue(store, dispatch, *attempts, agent=agent)
        await dispatch.start()
        await eventually(lambda: len(order) == len(whose))

    with_dispatch(tmp_path / "db", conduct, scene, host_limit=2, agent_limit=2)
    assert order.index("quiet") < len(order) - 1
    assert [agent for agent in order if agent != "quiet"] != sorted(agent for agent in order if agent != "quiet")
