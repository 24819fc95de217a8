"""What a model's tokens cost: the operator's own table, above one that comes along. Pure; whole millionths of a dollar.

The table that comes along is of 2026-11 and the providers' own list prices; who pays other prices says so in `[prices]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runner.gateway import Spent
from runner.store.spending import Amount

#: Writing to the provider's cache costs a quarter more than reading input, reading from it a tenth.
_WRITE, _READ = 1.25, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, which is millionths of a dollar per token."""

    input: float
    output: float

    @property
    def dearest_input(self) -> float:
        """What an input token costs at most."""
        return self.input * _WRITE


#: By the beginning of a model's name; the longest that fits counts, the operator's own before these.
LISTED: Mapping[str, Price] = {
    "claude-haiku": Price(input=1.0, output=5.0),
    "claude-sonnet": Price(input=3.0, output=15.0),
    "claude-opus": Price(input=15.0, output=75.0),
    "claude-fable": Price(input=15.0, output=75.0),
}


def is_listed(model: str, own: Mapping[str, Price]) -> bool:
    """Whether a table knows a model's price."""
    return any(model.startswith(name) for name in (*own, *LISTED))


def price_of(model: str, own: Mapping[str, Price]) -> Price:
    """The price of a model; one that no table knows costs as much as the dearest that is known."""
    for table in (own, LISTED):
        fitting = max((name for name in table if model.startswith(name)), key=len, default=None)
        if fitting is not None:
            return table[fitting]
    known = {**LISTED, **own}
    return Price(input=max(one.input for one in known.values()), output=max(one.output for one in known.values()))


def cost(spent: Spent, price: Price) -> Amount:
    """What a request used, in tokens and money, rounded up."""
    inputs = spent.input_tokens + spent.cache_write_tokens * _WRITE + spent.cache_read_tokens * _READ
    money = inputs * price.input + spent.output_tokens * price.output
    tokens = spent.input_tokens + spent.cache_write_tokens + spent.cache_read_tokens + spent.output_tokens
    return Amount(tokens=tokens, micro_usd=_up(money))


def at_most(input_tokens: int, output_tokens: int, price: Price) -> Amount:
    """What a request may cost at the most."""
    money = input_tokens * price.dearest_input + output_tokens * price.output
    return Amount(tokens=input_tokens + output_tokens, micro_usd=_up(money))


def _up(value: float) -> int:
    return int(-(-value // 1))
