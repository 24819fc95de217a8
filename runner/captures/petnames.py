"""Whether a petname and a key may become a contact's, seen against the contacts there are (S2, fence.md 67-73). Pure.

Whatever a reader could take for another contact, or for the same one with another key, is refused with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from runner.captures.keys import shown
from runner.errors import NotAllowedError, UsageError
from runner.fence import petname_fault, skeleton

#: Characters of a fingerprint that two contacts must not share: people compare beginnings (fence.md 71).
_PREFIX = 7


class Known(Protocol):
    """A contact as far as it matters here."""

    @property
    def petname(self) -> str:
        """What the owner calls it."""
        ...

    @property
    def key(self) -> str:
        """Its public key."""
        ...


def check_name(petname: str, others: Iterable[Known]) -> str:
    """A petname that no reader takes for another's.

    Returns:
        Its skeleton.

    Raises:
        UsageError: It cannot be shown as a sender.
        NotAllowedError: It is, or looks like, another contact's.
    """
    fault = petname_fault(petname)
    if fault is not None:
        raise UsageError(
            f"cannot use the petname {petname!r}: {fault}", resolution="choose another, such as maria or build-bot"
        )
    seen = skeleton(petname)
    for other in others:
        if skeleton(other.petname) == seen:
            alike = "is taken" if other.petname == petname else f"looks like the contact {other.petname}"
            raise NotAllowedError(f"cannot use the petname {petname}: it {alike}", resolution="choose another")
    return seen


def check_key(petname: str, key: str, others: Iterable[Known]) -> None:
    """See that a key is nobody else's, that its fingerprint is not taken for another's, and that it changes under no petname.

    Raises:
        NotAllowedError: Says which contact it collides with.
    """
    name = shown(key)
    for other in others:
        if other.petname == petname and other.key != key:
            raise NotAllowedError(
                f"cannot add {petname}: its key is {shown(other.key)}, and this is another: {name}",
                resolution=f"it may be somebody else's; once you have asked them: runner contact remove {petname}, then add",
            )
        if other.key == key:
            raise NotAllowedError(
                f"cannot add {petname}: this key is the contact {other.petname}'s",
                resolution=f"runner contact rename {other.petname} {petname} changes its name",
            )
        if shown(other.key).replace("-", "")[:_PREFIX] == name.replace("-", "")[:_PREFIX]:
            raise NotAllowedError(
                f"cannot add {petname}: the fingerprint {name} begins like that of the contact {other.petname}",
                resolution="that does not happen by chance: ask for another key, and where this one comes from",
            )
