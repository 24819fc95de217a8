"""Model API door: one unix socket per attempt, two operations, every reply decided before the CLI acts on it.

Owns the way to the model and nothing else. It never decides about a call, never tells the container a secret or an id, and
never passes a request or a block of a kind it does not know.
"""

from runner.gateway.listener import SOCKET_NAME
from runner.gateway.memory import Asked, Conversation
from runner.gateway.onrecord import agrees, found_in, noted, said_by, said_in
from runner.gateway.peers import Peers, Residents, connected, containers_in
from runner.gateway.purse import MIN_REPLY, Hold, Purse, Spent
from runner.gateway.refusals import RequestRefusedError, UpstreamError
from runner.gateway.sameness import Expected, definition
from runner.gateway.scripted import ScriptedUpstream
from runner.gateway.server import Gateway
from runner.gateway.spoken import picture
from runner.gateway.timed import TimedProtocol
from runner.gateway.upstream import HttpUpstream, Patience
from runner.gateway.upstreams import make_upstream
from runner.gateway.values import (
    GatewayLimits,
    Handover,
    ModelTurn,
    Reference,
    ToolResult,
    ToolUse,
    TurnDesk,
    Upstream,
    UpstreamFactory,
)

__all__ = [
    "MIN_REPLY",
    "SOCKET_NAME",
    "Asked",
    "Conversation",
    "Expected",
    "Gateway",
    "GatewayLimits",
    "Handover",
    "Hold",
    "HttpUpstream",
    "ModelTurn",
    "Patience",
    "Peers",
    "Purse",
    "Reference",
    "RequestRefusedError",
    "Residents",
    "ScriptedUpstream",
    "Spent",
    "TimedProtocol",
    "ToolResult",
    "ToolUse",
    "TurnDesk",
    "Upstream",
    "UpstreamError",
    "UpstreamFactory",
    "agrees",
    "connected",
    "containers_in",
    "definition",
    "found_in",
    "make_upstream",
    "noted",
    "picture",
    "said_by",
    "said_in",
]
