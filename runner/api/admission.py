"""What is asked of a request that releases something, before its handler sees it: no tripwire, and a credential (W2, W3).

Owns the order of the two and what is put on record of a refusal. The uid and the container check came first (W1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from runner.api.credential import FIELD, Credentials, Proof
from runner.api.peer import Peer
from runner.approvals import Approver
from runner.errors import CredentialNeededError, NotAllowedError
from runner.model import JsonObject

TRIPWIRE, CREDENTIAL = "approval.tripwire", "approval.credential"


class Asked(NamedTuple):
    """A request, as far as admission looks at it."""

    act: str  #: the path beneath /v1
    ref: str
    body: JsonObject
    peer: Peer
    markers: tuple[str, ...]  #: that the client says its environment carries
    who: Approver


class Record(Protocol):
    """Where a refusal is put on record."""

    async def refused(self, event: str, *, act: str, ref: str, why: str, who: Approver) -> None:
        """One request that was refused admission."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The check. `signs`: what of a process points to an agent; None: tripwires are off."""

    credentials: Credentials
    signs: Callable[[int], tuple[str, ...]] | None

    async def admit(self, record: Record, asked: Asked) -> Proof | None:
        """Whose key signed it; None where no key is needed. The credential is taken out of the body.

        Raises:
            NotAllowedError: A tripwire was touched, or the credential is missing or does not hold.
        """
        await self._look(record, asked)
        if not self.credentials.needed:
            asked.body.pop(FIELD, None)
            return None
        try:
            proof = self.credentials.check(asked.act, asked.body)
        except CredentialNeededError:
            raise  # how a client asks for a challenge
        except NotAllowedError as error:
            await record.refused(CREDENTIAL, act=asked.act, ref=asked.ref, why=error.brief, who=asked.who)
            raise
        asked.body.pop(FIELD, None)
        return proof

    async def _look(self, record: Record, asked: Asked) -> None:
        if self.signs is None:
            return
        found = dict.fromkeys((*asked.markers, *await asyncio.to_thread(self.signs, asked.peer.pid)))
        if not found:
            return
        why = ", ".join(found)
        await record.refused(TRIPWIRE, act=asked.act, ref=asked.ref, why=why, who=asked.who)
        raise NotAllowedError(
            f"cannot take a yes from within an agent's shell: {why}",
            details="an agent must not release its own calls; this attempt is on record",
            resolution="use a terminal that no agent started; RUNNER_TRIPWIRES=off for the supervisor turns this check off",
        )
