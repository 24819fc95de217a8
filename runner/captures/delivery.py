"""A verified request to send, as an ingress hands it on: whose, to whom, and how to know it again when it comes twice."""

from __future__ import annotations

import re
from typing import NamedTuple

from runner.captures.bounds import BOUNDS

AGENT = re.compile(r"[a-z0-9-]{1,40}")
KEY = re.compile(r"[0-9a-f]{32,64}")
LENGTH = re.compile(r"[1-9][0-9]{0,9}|0")


class Delivery(NamedTuple):
    """What is known of a capture before a byte of it is read. `key` is its sender's own for it, `digest` of its bytes."""

    fingerprint: str
    nonce: str
    expires: float
    agent: str
    key: str
    digest: str
    length: int

    @property
    def fits(self) -> bool:
        """Whether it is small enough to be taken."""
        return self.length <= BOUNDS.wire_bytes
