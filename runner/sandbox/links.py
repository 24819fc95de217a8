"""Which links of a snapshot lead to something in it, as the container sees them.

Pure: knows names and targets, touches no file. A link is judged the way the container's kernel would follow it, with
`/workspace` for root (case 35), and anything that leaves it on the way is refused, whether or not it comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from runner.model import WORKSPACE

Parts = tuple[str, ...]

#: As many links as the kernel follows in one lookup.
MAX_HOPS = 40
_ROOT = WORKSPACE.parts[1:]


def dangling(links: Mapping[Parts, str], present: Collection[Parts]) -> dict[Parts, str]:
    """The links that may not be kept, each with the reason.

    Args:
        links: Where each link stands and its target as written.
        present: Every file and directory of the snapshot; the empty tuple is its root.
    """
    return {parts: fault for parts, target in links.items() if (fault := _fault(parts, target, links=links, present=present))}


class _Walk:
    """Where a lookup stands and the components still to walk, last first."""

    def __init__(self, here: Parts) -> None:
        self.here = list(here)
        self.todo: list[str] = []

    def enter(self, target: str) -> bool:
        """Go on along a link's target; False where it starts outside `/workspace`."""
        steps = [step for step in reversed(target.split("/")) if step not in {"", "."}]
        if target.startswith("/"):
            if tuple(reversed(steps[-len(_ROOT) :])) != _ROOT:
                return False
            steps = steps[: -len(_ROOT)]
            self.here = []
        self.todo += steps
        return True


def _fault(parts: Parts, target: str, *, links: Mapping[Parts, str], present: Collection[Parts]) -> str | None:
    walk = _Walk(parts[:-1])
    inside = walk.enter(target)
    hops = 1
    while inside and walk.todo:
        step = walk.todo.pop()
        place = (*walk.here, step)
        if step == "..":
            inside = bool(walk.here)
            del walk.here[-1:]
        elif place in links:
            hops += 1
            if hops > MAX_HOPS:
                return "link loops"
            inside = walk.enter(links[place])
        elif place in present:
            walk.here.append(step)
        else:
            return "link leads to nothing in the snapshot"
    return None if inside else "link leads out"
