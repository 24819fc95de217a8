"""Routes of the books. Who raises a budget spends the operator's money: that is the operator's alone."""

from __future__ import annotations

from runner.api.access import Access
from runner.api.ask import Ask
from runner.api.route import SMALL, Route
from runner.api.service import Service
from runner.errors import UsageError
from runner.model import Json

BY = ("agent", "contact", "day")
_DAYS = 30
_DEAREST = 1_000_000.0


async def _usage(service: Service, ask: Ask) -> Json:
    by = ask.query("by") or "agent"
    if by not in BY:
        raise UsageError(f"cannot show the usage by that: it must be {', '.join(BY)}")
    return await service.spending.usage(by=by, days=ask.number("days") or _DAYS)


async def _holds(service: Service, _: Ask) -> Json:
    return await service.spending.holds()


async def _raise(service: Service, ask: Ask) -> Json:
    tokens, usd = ask.body.get("tokens", 0), ask.body.get("usd", 0)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens <= 10**12:
        raise UsageError("cannot raise the budget: tokens must be a whole number")
    if isinstance(usd, bool) or not isinstance(usd, int | float) or not 0 <= usd <= _DEAREST:
        raise UsageError("cannot raise the budget: usd must be a number")
    if not tokens and not usd:
        raise UsageError("cannot raise the budget: by nothing", resolution="say --usd or --tokens")
    return await service.spending.raise_budget(ask.ref, tokens=tokens, usd=float(usd), who=ask.who)


SPENDING_ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/v1/usage", access=Access.READ, handler=_usage),
    Route(method="GET", path="/v1/budgets", access=Access.READ, handler=_holds),
    Route(method="POST", path="/v1/runs/{ref}/budget", access=Access.OPERATE, handler=_raise, cap=SMALL, releases=True),
)
