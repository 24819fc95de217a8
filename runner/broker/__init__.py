"""The only code that acts: effects on the host beneath an agent's directory, from the bytes that were approved.

Synchronous; the supervisor calls it in a thread, after `executing` is on record (B8). Nothing in a container's reach calls it
(invariant 13). It decides nothing: what may happen was decided and approved before.
"""

from __future__ import annotations

from runner.broker.effects import capture, clean, examine, perform
from runner.broker.plans import plan, plan_undo
from runner.broker.values import ABSENT, FOLDER, UNDO, Change, Effect, Impossible, Order, Plan, PreImage, image_of

__all__ = [
    "ABSENT",
    "FOLDER",
    "UNDO",
    "Change",
    "Effect",
    "Impossible",
    "Order",
    "Plan",
    "PreImage",
    "capture",
    "clean",
    "examine",
    "image_of",
    "perform",
    "plan",
    "plan_undo",
]
