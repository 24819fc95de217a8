"""The owner's standing choices as the rows have them, and how they enter a decision's context. No SQL in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from runner.errors import StoreError
from runner.model import GrantId, Policy
from runner.policy import Grant, PolicyContext, SavedVerdict

#: Keys in `meta`.
POLICY, CEILING = "owner_policy", "owner_ceiling"
#: Loosest last (design.md §6).
_LOOSENESS = (Policy.ASK, Policy.READ_ONLY, Policy.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Words as they are stored; None and absent: never chosen."""

    saved: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  #: by the profile's name for the tool
    policy: str | None = None
    ceiling: str | None = None
    grants: tuple[Grant, ...] = ()  #: that nobody took back, used up or not (D3)
    spent: frozenset[GrantId] = frozenset()

    @property
    def owner_policy(self) -> Policy:
        """The owner's default: `ask` until chosen (R67).

        Raises:
            StoreError: It is no word that this version knows.
        """
        return Policy.ASK if self.policy is None else _known(self.policy)

    @property
    def blocked(self) -> frozenset[str]:
        """Tools that the owner blocked."""
        return frozenset(tool for tool, word in self.saved.items() if word == SavedVerdict.BLOCK.value)

    def granted(self, using: GrantId | None = None) -> tuple[Grant, ...]:
        """The grants that a new call may use; for a call that one of them has let in already, that one alone."""
        if using is not None:
            return tuple(one for one in self.grants if one.id == using)
        return tuple(one for one in self.grants if one.id not in self.spent)

    def max_policy(self, host: Policy) -> Policy:
        """The stricter of the owner's ceiling and this host's (R75).

        Raises:
            StoreError: The owner's is no word that this version knows.
        """
        own = Policy.SKIP if self.ceiling is None else _known(self.ceiling)
        return min(own, host, key=_LOOSENESS.index)

    def into(self, context: PolicyContext, *, host: Policy) -> PolicyContext:
        """`context` with these choices in it, below the host's ceiling.

        Raises:
            StoreError: A choice is no word that this version knows.
        """
        try:
            saved = {tool: SavedVerdict(word) for tool, word in self.saved.items()}
        except ValueError as error:
            raise _unknown(str(error)) from None
        bounds = replace(context, owner_policy=self.owner_policy, max_policy=self.max_policy(host))
        return replace(bounds, saved=MappingProxyType(saved), grants=self.granted())


def _known(word: str) -> Policy:
    try:
        return Policy(word)
    except ValueError as error:
        raise _unknown(str(error)) from None


def _unknown(what: str) -> StoreError:
    return StoreError(
        "cannot read the owner's choices: a word that this version does not know", details=what, resolution="set it again"
    )
