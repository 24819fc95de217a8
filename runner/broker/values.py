"""What the broker is asked and what it answers. Values only, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from runner.model import Digest, ResolvedPath

#: An outcome's text: near 50,000 characters the CLI swaps it for a preview (design.md §2.4).
MAX_OUTCOME_BYTES = 32 * 1024
#: Largest file the broker reads or writes.
MAX_FILE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a call would do, computed from the real files before anybody is asked (B6, V8).

    `targets` are paths as the container sees them and the keys of `pre_images`, where None means absent. `preview` is a
    unified diff in plain text: whoever shows it escapes it.
    """

    tool: str
    targets: tuple[PurePosixPath, ...]
    pre_images: Mapping[str, Digest | None]
    post_image: Digest
    preview: str
    warnings: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """What a pre-flight already knows must fail: no person is asked, the model is told `reason`."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An approved call to carry out.

    `raw` is the exact stored text of its input; `pre_images` is what was approved with it. `post_image` is
    the plan's: what the result must be. Without it `examine` cannot tell that an Edit happened (B9).
    """

    tool: str
    raw: str
    paths: tuple[ResolvedPath, ...]
    cwd: Path
    pre_images: Mapping[str, Digest | None]
    post_image: Digest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file as it is after an effect, for the live snapshot; `data` None means gone."""

    path: PurePosixPath
    data: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What became of an order. `stale`: the world is no longer the one it was approved in, and nothing was done."""

    state: Literal["done", "failed", "stale"]
    outcome: str
    changed: tuple[Change, ...] = ()
