"""The transcript a resumed CLI is handed: the mirrored lines, then the lines the supervisor writes from its own rows.

Pure. The mirrored lines are container data, go back into a container of the same run only, and decide nothing. The mirror lags:
it may be cut inside a turn or several turns back, and a call with neither result nor deferral line would vanish (design.md
§3.8). So every turn on record is found in the mirror or written anew. A run that continues another gets lines of ours alone.
"""

from __future__ import annotations

from runner.transcript.mirror import without
from runner.transcript.telling import LOST, NOT_RUN, WORDLESS, finished, last_uuid, resume
from runner.transcript.values import Resumption, Scribe, Told, Turn

__all__ = [
    "LOST",
    "NOT_RUN",
    "WORDLESS",
    "Resumption",
    "Scribe",
    "Told",
    "Turn",
    "finished",
    "last_uuid",
    "resume",
    "without",
]
