"""What the broker is asked and what it answers. Values only, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from runner.digest import digest_bytes
from runner.model import Digest, ResolvedPath

#: An outcome's text: near 50,000 characters the CLI swaps it for a preview (design.md §2.4).
MAX_OUTCOME_BYTES = 32 * 1024
#: Largest file the broker reads or writes.
MAX_FILE_BYTES = 16 * 1024 * 1024
#: The tool name of what a person takes back; no profile can list it and no model is offered it.
UNDO = "Undo"
#: Arguments whose text becomes a file's content.
CONTENT = frozenset({"content", "old_string", "new_string", "new_source"})


class Folder(Enum):
    """A directory as the content of a target: it has no bytes, only a presence."""

    HERE = "directory"


FOLDER = Folder.HERE
#: What stands at a target: a file's bytes, a directory, or nothing.
Content: TypeAlias = bytes | Folder | None
#: The post-image of a target that is taken away.
ABSENT = Digest("absent")


def image_of(content: Content) -> Digest | None:
    """What a pre-image says of a content; None for nothing. A directory has no digest, only the word for what it is."""
    if isinstance(content, Folder):
        return Digest(content.value)
    return None if content is None else digest_bytes(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a call would do, computed from the real files before anybody is asked (B6, V8).

    `targets` are paths as the container sees them and the keys of `pre_images`, where None means absent and `directory`
    a directory. `preview` is a unified diff in plain text: whoever shows it escapes it.
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
class Result:
    """What a tool makes of its target: how many places of a text changed, or in words what was done to a document.

    `mode` and `owner` are for what has to be made anew, where that is not a new file's.
    """

    data: Content
    replacements: int = 0
    did: str = ""
    mode: int | None = None
    owner: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreImage:
    """What stood at a target before an effect, whole, so that the effect can be taken back.

    `standing` counts the leading parts of the path that were directories: what the effect made besides is taken back too.
    """

    data: Content
    mode: int
    owner: tuple[int, int]
    standing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An approved call to carry out.

    `raw` is the exact stored text of its input; `pre_images` is what was approved with it. `post_image` is
    the plan's: what the result must be. Without it `examine` cannot tell that an Edit happened (B9). `key` names the order
    and what it writes beside its target on the way there. `restores`: of an undo, what it brings back.
    """

    tool: str
    raw: str
    paths: tuple[ResolvedPath, ...]
    cwd: Path
    pre_images: Mapping[str, Digest | None]
    post_image: Digest | None = None
    key: str = ""
    restores: PreImage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file or directory as it is after an effect, for the live snapshot; `data` None means gone."""

    path: PurePosixPath
    data: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What became of an order. `stale`: the world is no longer the one it was approved in, and nothing was done."""

    state: Literal["done", "failed", "stale"]
    outcome: str
    changed: tuple[Change, ...] = ()

    @property
    def left(self) -> Digest | None:
        """The digest of what was put at the target, taken from the very bytes; None where there is no target (A4)."""
        return (image_of(self.changed[0].data) or ABSENT) if self.changed else None
