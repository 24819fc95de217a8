"""Who may use which route: data, not code in handlers.

Owns the three kinds of access and the check. Nothing that is not granted here is reachable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from runner.api.peer import Peer
from runner.errors import NotAllowedError

#: Names our own client uses. A page in a browser that reached the socket through some proxy has another one.
HOSTS = frozenset({"runner", "localhost"})


class Access(Enum):
    """What a caller must be."""

    READ = "read"  #: operator or approver
    DECIDE = "decide"  #: operator or approver
    OPERATE = "operate"  #: operator


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Uids that stand for someone. root is the operator wherever it wants (W6)."""

    operator: int
    approvers: frozenset[int]

    def may(self, peer: Peer, access: Access) -> bool:
        """Whether this process may use a route of this access."""
        operator = peer.uid in {self.operator, 0}
        match access:
            case Access.READ | Access.DECIDE:
                return peer.ours and (operator or peer.uid in self.approvers)
            case Access.OPERATE:
                return peer.ours and operator
        assert_never(access)


def check_access(people: People, peer: Peer | None, access: Access) -> Peer:
    """The peer, if it may.

    Raises:
        NotAllowedError: It may not, or nobody knows who it is.
    """
    if peer is None or not people.may(peer, access):
        who = "an unknown process" if peer is None else f"uid {peer.uid}"
        where = "" if peer is None or peer.ours else " in another namespace"
        raise NotAllowedError(
            f"cannot {access.value}: {who}{where} is no {'operator' if access is Access.OPERATE else 'approver'} here",
            resolution="use the supervisor's own user, or ask its operator to list this uid in [approvers]",
        )
    return peer


def refuse_browsers(headers: Mapping[str, str]) -> None:
    """Refuse what only a browser or a rebinding page would send (C3).

    Raises:
        NotAllowedError: It is not one of our programs.
    """
    foreign = [name for name in headers if name in {"origin", "referer"} or name.startswith(("sec-", "x-forwarded"))]
    if foreign or headers.get("host", "").partition(":")[0] not in HOSTS:
        raise NotAllowedError("cannot answer: the request comes from a browser or a proxy", resolution="use the runner command")
