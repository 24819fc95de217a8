"""Models of published profiles that no price table knows: their budgets in dollars go by the dearest price, not by theirs.

Owns one check of `runner doctor`. Reads a database file only; one that cannot be read is another check's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from runner.errors import RunnerError
from runner.model import Profile
from runner.profiles import from_json
from runner.settings import Settings
from runner.store.offline import looking, place_of
from runner.supervisor.health import Check, Level
from runner.supervisor.measures import budgets_of
from runner.supervisor.prices import Price, is_listed, price_of

_NAME = "prices"


def price_checks(settings: Settings) -> tuple[Check, ...]:
    """The check. Blocking; for a thread."""
    return judged(_published(settings), budgets_of(settings).prices)


def judged(profiles: Iterable[Profile], own: Mapping[str, Price]) -> tuple[Check, ...]:
    """What is said of these profiles; nothing where there are none.

    Args:
        profiles: Published ones.
        own: The operator's prices.
    """
    agents: dict[str, list[str]] = {}
    for profile in profiles:
        agents.setdefault(profile.model, []).append(profile.name)
    if not agents:
        return ()
    unknown = {model: names for model, names in sorted(agents.items()) if not is_listed(model, own)}
    if not unknown:
        return (Check(name=_NAME, level=Level.FINE, found=f"known for every model of a published profile: {len(agents)}"),)
    named = "; ".join(f"{model} ({', '.join(sorted(names))})" for model, names in unknown.items())
    dearest = price_of(next(iter(unknown)), own)
    found = f"none for {named}: charged as the dearest, {dearest.input:g} and {dearest.output:g} USD per million tokens"
    first = next(iter(unknown))
    return (Check(name=_NAME, level=Level.NOTE, found=found, fix=f'add "{first}" to [prices] of the settings'),)


def _published(settings: Settings) -> tuple[Profile, ...]:
    place = place_of(settings.database_url.get_secret_value())
    try:
        if not isinstance(place, Path) or not place.exists():
            return ()  # a server may be another machine, and that is not asked
        with looking(place) as rows:
            return tuple(from_json(json.loads(text)) for text in rows.profiles())
    except RunnerError:
        return ()
