"""Log records as lines that cannot be forged (A46): one record, one line, every part of it escaped.

Owns the format of the supervisor's log. Never decides what is logged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TextIO

from runner.render.block import show_block
from runner.render.text import show_text

#: Libraries that tell at `info` what only their authors want to know.
_CHATTY = ("alembic", "httpx2", "httpcore2", "uvicorn")


class LineFormatter(logging.Formatter):
    """UTC time, level, logger and message on one line; a traceback follows behind the gutter.

    Args:
        clean: Takes out what must not be written down (V9).
    """

    def __init__(self, *, clean: Callable[[str], str] = str) -> None:
        super().__init__()
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """The record as escaped text.

        Args:
            record: What was logged; its message and traceback may hold text from anywhere.
        """
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        lines = [f"{when} {record.levelname.lower()} {show_text(record.name)}: {show_text(self._clean(record.getMessage()))}"]
        if record.exc_info:
            lines.extend(show_block(self._clean(self.formatException(record.exc_info))))
        return "\n".join(lines)


def log_to(stream: TextIO, *, level: str, clean: Callable[[str], str] = str) -> None:
    """Send every logger's records to `stream`, cleaned and escaped; called once, by whoever owns the process."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(clean=clean))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.DEBUG if level == "debug" else logging.WARNING)
