"""`runner doctor` names the models of published profiles that no price table knows (issue 7 point 3, M11)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import SecretStr

from runner.settings import Settings
from runner.supervisor.health import Level
from runner.supervisor.prices import LISTED, Price
from runner.supervisor.pricing import judged, price_checks
from tests.helpers.builders import a_profile
from tests.unit.supervisor.world import World, play

OWN = {"my-model": Price(input=2, output=8)}


def test_a_model_that_no_table_knows_is_named_with_its_agents_and_what_it_is_charged_as() -> None:
    profiles = [
        a_profile(),
        a_profile(name="b", model="odd-1"),
        a_profile(name="a", model="odd-1"),
        a_profile(name="c", model="other"),
    ]
    (check,) = judged(profiles, OWN)
    dearest = max(one.output for one in LISTED.values())
    assert (check.name, check.level) == ("prices", Level.NOTE)
    assert check.found.startswith("none for odd-1 (a, b); other (c): charged as the dearest")
    assert f"{dearest:g} USD" in check.found
    assert check.fix == 'add "odd-1" to [prices] of the settings'


def test_models_by_the_beginning_of_whose_name_there_is_a_price_are_fine() -> None:
    (check,) = judged([a_profile(), a_profile(name="b", model="my-model-2")], OWN)
    assert (check.level, check.found) == (Level.FINE, "known for every model of a published profile: 2")


def test_where_nothing_is_published_nothing_is_said(tmp_path: Path) -> None:
    absent = Settings(state_dir=tmp_path, database_url=SecretStr(f"sqlite:///{tmp_path / 'none.db'}"))
    elsewhere = Settings(state_dir=tmp_path, database_url=SecretStr("postgresql+psycopg://db.example.org/x"))
    assert (judged([], OWN), price_checks(absent), price_checks(elsewhere)) == ((), (), ())


def database_of(folder: Path) -> Path:
    """The one database beneath a folder."""
    (database,) = folder.rglob("*.db")
    return database


def test_the_profiles_are_those_in_the_database(tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        world.a_run()
        database = database_of(tmp_path)
        settings = Settings(state_dir=tmp_path, database_url=SecretStr(f"sqlite:///{database}"))
        (check,) = await asyncio.to_thread(price_checks, settings)
        assert check.found == "known for every model of a published profile: 1"

    play(tmp_path, scene)
