"""No two agents share a directory: what one may write the other would read (R62, issue 7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import ProfileError
from runner.profiles import profile_digest
from runner.store import profiles
from runner.supervisor.agents import publish
from tests.helpers.builders import a_profile
from tests.unit.supervisor.world import World, play


@pytest.mark.parametrize(
    ("cwd", "taken"),
    [("/srv/agents/one", True), ("/srv/agents", True), ("/srv/agents/one/sub", True), ("/srv/agents/one-2", False)],
)
def test_another_agents_directory_is_refused_when_it_is_published(tmp_path: Path, cwd: str, taken: bool) -> None:
    def named(name: str, place: str):  # type: ignore[no-untyped-def]
        made = a_profile(name=name, cwd=Path(place))
        return replace(made, digest=profile_digest(made))

    async def scene(world: World) -> None:
        with world.store.begin() as conn:
            publish(conn, named("one", "/srv/agents/one"), 1.0)
            publish(conn, named("one", "/srv/agents/one"), 2.0)
            before = [row.name for row in profiles.all(conn)]
            if taken:
                with pytest.raises(ProfileError, match="the agent one"):
                    publish(conn, named("two", cwd), 3.0)
                assert [row.name for row in profiles.all(conn)] == before
            else:
                publish(conn, named("two", cwd), 3.0)
                assert "two" in [row.name for row in profiles.all(conn)]

    play(tmp_path, scene)
