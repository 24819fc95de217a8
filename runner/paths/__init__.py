"""Where a path argument leads, judged in the container's view of the snapshot.

Pure: directories are read through the caller's `DirectoryView`; this room opens nothing. A path that cannot be proven to stay
beneath the workspace is a `PathRefusal`, never an exception.
"""

from runner.paths.patterns import check_pattern, pattern_base
from runner.paths.resolve import Want, resolve
from runner.paths.selection import Omission, Selection, omission
from runner.paths.text import check_text, normalise
from runner.paths.view import DirectoryView, EntryKind, PathRefusal

__all__ = [
    "DirectoryView",
    "EntryKind",
    "Omission",
    "PathRefusal",
    "Selection",
    "Want",
    "check_pattern",
    "check_text",
    "normalise",
    "omission",
    "pattern_base",
    "resolve",
]
