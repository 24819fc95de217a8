"""The only exit of text to a person: a terminal, a page or a log (invariant 8).

Whatever leaves through here is made of printable characters from which the original can be read back; nothing else prints.
"""

from runner.render.block import CONTINUED, GUTTER, show_block, show_fields
from runner.render.card import show_card, show_change
from runner.render.concealed import what_was_hidden
from runner.render.exact import show_exact
from runner.render.logs import LineFormatter, log_to
from runner.render.screen import Page, Part, Screen, Styled, json_document
from runner.render.sheet import Line, Sheet, line
from runner.render.statistics import show_statistics
from runner.render.text import show_inline, show_lines, show_text
from runner.render.views import (
    show_approvals,
    show_calls,
    show_event,
    show_profiles,
    show_run,
    show_runs,
    show_status,
    show_todo,
    state_part,
)

__all__ = [
    "CONTINUED",
    "GUTTER",
    "Line",
    "LineFormatter",
    "Page",
    "Part",
    "Screen",
    "Sheet",
    "Styled",
    "json_document",
    "line",
    "log_to",
    "show_approvals",
    "show_block",
    "show_calls",
    "show_card",
    "show_change",
    "show_event",
    "show_exact",
    "show_fields",
    "show_inline",
    "show_lines",
    "show_profiles",
    "show_run",
    "show_runs",
    "show_statistics",
    "show_status",
    "show_text",
    "show_todo",
    "state_part",
    "what_was_hidden",
]
