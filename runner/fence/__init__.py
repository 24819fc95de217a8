"""The fence: the only way text from outside reaches a prompt (F1, invariant 8).

Owns the escape, the one block and its proof. Pure: the nonce's randomness is handed in. It says nothing about what the model
does with the text: that is the gate's business.
"""

from __future__ import annotations

from runner.fence.bounds import FIELDS, FieldBound, cut_raw
from runner.fence.classes import decode_hidden, hidden_counts
from runner.fence.compose import Forward, Prompt, compose
from runner.fence.escape import escape, unescape, visible
from runner.fence.hidden import Hidden, hidden_in, texts_of
from runner.fence.names import NameFault, petname_fault, sender_label
from runner.fence.parse import Block, Parsed, parse
from runner.fence.rules import AFTER_BLOCK, TOOL_RULE, system_rule
from runner.fence.skeleton import skeleton
from runner.fence.untrusted import Fenced, FenceError, Untrusted
from runner.fence.wrap import Field, Wrapped, wrap

__all__ = [
    "AFTER_BLOCK",
    "FIELDS",
    "TOOL_RULE",
    "Block",
    "FenceError",
    "Fenced",
    "Field",
    "FieldBound",
    "Forward",
    "Hidden",
    "NameFault",
    "Parsed",
    "Prompt",
    "Untrusted",
    "Wrapped",
    "compose",
    "cut_raw",
    "decode_hidden",
    "escape",
    "hidden_counts",
    "hidden_in",
    "parse",
    "petname_fault",
    "sender_label",
    "skeleton",
    "system_rule",
    "texts_of",
    "unescape",
    "visible",
    "wrap",
]
