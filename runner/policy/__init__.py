"""The decision: one pure function, a closed tool catalogue, a precedence table that is data. No I/O, no clock."""

from runner.policy.catalogue import TOOLS, call_key, definition_digest, model_name, profile_name
from runner.policy.context import Connector, PolicyContext, SavedVerdict
from runner.policy.decide import decide
from runner.policy.grants import Grant
from runner.policy.matrix import Cell, Column, acts_unasked, explain_matrix

__all__ = [
    "TOOLS",
    "Cell",
    "Column",
    "Connector",
    "Grant",
    "PolicyContext",
    "SavedVerdict",
    "acts_unasked",
    "call_key",
    "decide",
    "definition_digest",
    "explain_matrix",
    "model_name",
    "profile_name",
]
