"""Where the files that travel with the package are: the wall's files and the shipped profiles.

Owns one question, checkout or wheel; reads nothing.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_dir() -> Path:
    """`runner/_data` when installed from a wheel, else the checkout's root."""
    packaged = _PACKAGE / "_data"
    return packaged if packaged.is_dir() else _PACKAGE.parent


def sandbox_dir() -> Path:
    """What goes inside the wall: base recipe, preparation, probe, seccomp profile."""
    return data_dir() / "sandbox"


def escape_dir() -> Path:
    """Scripts of the escape suite."""
    return sandbox_dir() / "escape"


def profiles_dir() -> Path:
    """The shipped example profiles."""
    return data_dir() / "profiles"


def dockerfile() -> Path:
    """The recipe of the sandbox image."""
    return data_dir() / "Dockerfile.sandbox"
