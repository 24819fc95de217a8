"""What the operator's settings come to: budgets, prices, floors, containers that wait, room, who decides."""

from __future__ import annotations

import os

from runner.captures.ed25519 import KeyUnusableError, fingerprint
from runner.captures.keys import checked
from runner.errors import SettingsError
from runner.model import Json, JsonObject
from runner.setting_tables import DayBudget
from runner.settings import Settings
from runner.supervisor.floors import Floors
from runner.supervisor.pool import Sizes
from runner.supervisor.prices import Price
from runner.supervisor.purse import Budget, Budgets
from runner.supervisor.room import Room


def budgets_of(settings: Settings) -> Budgets:
    """The operator's budgets of a day and prices."""

    def budget(chosen: DayBudget) -> Budget:
        return Budget(tokens=chosen.tokens, micro_usd=None if chosen.usd is None else round(chosen.usd * 1_000_000))

    return Budgets(
        agent=budget(settings.budgets.agent),
        contact=budget(settings.budgets.contact),
        day=budget(settings.budgets.day),
        prices={name: Price(input=price.input, output=price.output) for name, price in settings.prices.items()},
    )


def sizes_of(settings: Settings) -> Sizes:
    """How many containers wait for their run."""
    return Sizes(each=settings.pool.size, all=settings.pool.total, max_age=settings.pool.max_age)


def floors_of(settings: Settings) -> Floors:
    """What this host makes of every run and every policy."""
    return Floors(strict=settings.strict, ceiling=settings.max_policy)


def room_of(settings: Settings) -> Room:
    """How much of this machine agents may have."""
    return Room(reserve=settings.host.reserve_memory, max_load=settings.host.max_load)


def approvers(settings: Settings) -> JsonObject:
    """Who may decide, and how that is known.

    Raises:
        SettingsError: A key is none.
    """
    keys: list[Json] = []
    for name, key in settings.approvers.keys.items():
        try:
            keys.append({"name": name, "key": key, "fingerprint": fingerprint(checked(key))})
        except KeyUnusableError as error:
            raise SettingsError(
                f"cannot use setting RUNNER_APPROVERS.keys.{name}: {error}",
                resolution="copy the line runner approver keygen says",
            ) from None
    uids: list[Json] = [os.geteuid(), *settings.approvers.uids]
    return {"uids": uids, "keys": keys, "tripwires": settings.tripwires}
