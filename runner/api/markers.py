"""The marks that agent CLIs leave in the environment of what they start; looked for on both sides of the socket (W3)."""

from __future__ import annotations

from collections.abc import Mapping

#: The header in which our own client says which markers its environment carries, for a supervisor that may not look.
HEADER = "runner-markers"
#: Variables that agent CLIs set for what they start.
MARKERS = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "ANTHROPIC_UNIX_SOCKET",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
)


def carried(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The markers in an environment."""
    return tuple(name for name in MARKERS if environment.get(name))


def declared(header: str | None) -> tuple[str, ...]:
    """The markers a client says it carries; words that are none are left out."""
    return tuple(name for name in MARKERS if name in (header or "").split(","))
