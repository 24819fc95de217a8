"""The examples in a profile, executed against `decide` whenever it is loaded.

They are decided for the owner's own capture with untrusted content in it, nothing saved, no ceiling, in an empty directory: no
example can depend on what happens to lie in cwd.
"""

from __future__ import annotations

import errno

from runner.digest import parse_call
from runner.model import Profile
from runner.paths import EntryKind
from runner.policy import PolicyContext, decide


class EmptyDirectory:
    """A workspace in which nothing stands."""

    def kind(self, parts: tuple[str, ...]) -> EntryKind:
        """The root is a directory and all else absent."""
        if any(len(name.encode()) > 255 for name in parts):
            raise OSError(errno.ENAMETOOLONG, "name too long")
        return EntryKind.ABSENT if parts else EntryKind.DIRECTORY

    def link_target(self, parts: tuple[str, ...]) -> str:
        """There is no link."""
        raise FileNotFoundError(errno.ENOENT, "/".join(parts))

    def hard_links(self, parts: tuple[str, ...]) -> int:
        """There is no file."""
        raise FileNotFoundError(errno.ENOENT, "/".join(parts))

    def size(self, parts: tuple[str, ...]) -> int:
        """There is no file."""
        raise FileNotFoundError(errno.ENOENT, "/".join(parts))


def wrong_examples(profile: Profile) -> tuple[str, ...]:
    """What is wrong with each example whose verdict differs, one sentence each."""
    context = PolicyContext(view=EmptyDirectory())
    wrong: list[str] = []
    for number, example in enumerate(profile.examples, start=1):
        decision = decide(parse_call(example.tool, example.raw), profile, context)
        if decision.verdict is not example.expect:
            wrong.append(
                f"example {number} ({example.tool}) expects {example.expect.value}, the decision is {decision.verdict.value}: "
                f"{decision.reason}"
            )
    return tuple(wrong)
