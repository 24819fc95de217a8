"""Which profile files may be published: those that load, whose examples hold and in which `check` finds no error.

Owns the one rule that `profile check`, `profile publish` and the supervisor share.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from runner.errors import ProfileError
from runner.model import Profile
from runner.profiles import Finding, Level, check, load
from runner.resources import profiles_dir


class Checked(NamedTuple):
    """A profile that loads, and everything there is to say about it."""

    profile: Profile
    findings: tuple[Finding, ...]


def examine(path: Path, *, others: Iterable[Profile] = (), keys: int | None = None) -> Checked:
    """Load a profile and look at it.

    Args:
        path: Its file.
        others: Published profiles; their directories should be other ones (R62).
        keys: How many approvers' keys are set up; None: not known here (D5).

    Raises:
        ProfileError: It does not load.
    """
    profile = load(path, shipped=path.resolve().parent == profiles_dir())
    return Checked(profile, check(profile, others=others, keys=keys))


def publishable(path: Path, *, keys: int | None = None) -> Profile:
    """The profile in a file, if it may be published where so many approvers' keys are set up.

    Raises:
        ProfileError: It does not load, or something in it must be put right first.
    """
    profile, findings = examine(path, keys=keys)
    errors = [f"{finding.key}: {finding.message}" for finding in findings if finding.level is Level.ERROR]
    if errors:
        raise ProfileError(
            f"cannot use profile {path}: {errors[0]}",
            details="\n".join(errors),
            resolution="runner profile check FILE says more",
        )
    return profile
