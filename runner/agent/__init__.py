"""Speaks to the SDK: options, transport over a byte stream, hook, callback and outcome server.

Performs nothing and decides nothing.
"""

from runner.agent.frames import FrameLimits
from runner.agent.gate import Answer, Gate, Outcome
from runner.agent.options import Start, argv, brokered_tools, bundled_cli, container_tools, environment, versions
from runner.agent.seat import Seat
from runner.agent.session import Message, Session, SessionEnd, user_message
from runner.agent.transport import ByteStream, Mirror

__all__ = [
    "Answer",
    "ByteStream",
    "FrameLimits",
    "Gate",
    "Message",
    "Mirror",
    "Outcome",
    "Seat",
    "Session",
    "SessionEnd",
    "Start",
    "argv",
    "brokered_tools",
    "bundled_cli",
    "container_tools",
    "environment",
    "user_message",
    "versions",
]
