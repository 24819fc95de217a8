"""New ids and nonces from one source of randomness, handed in by the composition root."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from runner.model import ApprovalId, CallId, CaptureId, GrantId, ReplyId, RunId, ShareId, make_id


class Ids:
    """Makes ids. `entropy` gives that many unpredictable bytes (≥ 80 bits per id, B12)."""

    def __init__(self, entropy: Callable[[int], bytes]) -> None:
        self._entropy = entropy

    def run(self) -> RunId:
        """A run's id."""
        return RunId(make_id("r", self._entropy(10)))

    def capture(self) -> CaptureId:
        """A capture's id."""
        return CaptureId(make_id("c", self._entropy(10)))

    def call(self) -> CallId:
        """A call's id."""
        return CallId(make_id("k", self._entropy(10)))

    def approval(self) -> ApprovalId:
        """An approval's id."""
        return ApprovalId(make_id("a", self._entropy(10)))

    def grant(self) -> GrantId:
        """A grant's id."""
        return GrantId(make_id("g", self._entropy(10)))

    def reply(self) -> ReplyId:
        """A reply's id."""
        return ReplyId(make_id("p", self._entropy(10)))

    def share(self) -> ShareId:
        """A share's id."""
        return ShareId(make_id("s", self._entropy(10)))

    def wire(self) -> str:
        """A tool use's id where the model's own came before; it tells nothing."""
        return f"toolu_{self._entropy(12).hex()}"

    def nonce(self) -> str:
        """128 random bits as hex: fences and approval records."""
        return self._entropy(16).hex()

    def session(self) -> str:
        """The CLI's session id, a random UUID of ours."""
        return str(uuid.UUID(bytes=self._entropy(16), version=4))

    def booking(self) -> str:
        """The id of a line in the books."""
        return make_id("b", self._entropy(10))
