"""What the operator's settings come to: budgets, prices, how many containers wait."""

from __future__ import annotations

from runner.setting_tables import DayBudget
from runner.settings import Settings
from runner.supervisor.pool import Sizes
from runner.supervisor.prices import Price
from runner.supervisor.purse import Budget, Budgets


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
