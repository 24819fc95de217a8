"""Path decisions against a real process behind the wall (issue 4 item 3; R46-R50, C21; cases groups A and B, 107, 110).

Each random tree is tried twice: as the snapshot that `take_snapshot` makes of it, where no link leads out any more, and as it
grew, so that the gate has to hold alone. `make oracle` runs many more cases; ORACLE_CASES and ORACLE_SEED choose.
"""

from __future__ import annotations

import os
import posixpath
import secrets
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from runner.model import Decision, Profile, ResolvedPath, Verdict
from runner.paths import DirectoryView
from runner.policy import PolicyContext, decide
from runner.sandbox.beneath import Beneath
from runner.sandbox.snapshot import SnapshotView, take_snapshot
from tests.helpers.builders import a_call, a_profile
from tests.helpers.oracle_world import Grown, argument, clear, grow, open_up, plain_argument, plant
from tests.integration.paths.container import Eyes
from tests.integration.paths.judging import Case, Judge, Tally, a_case, compare, the_gate

pytestmark = pytest.mark.docker

CASES = int(os.environ.get("ORACLE_CASES", "1600"))
SEED = int(os.environ.get("ORACLE_SEED", "4"))
PER_TREE = 32
BOTH_PROFILES = (a_profile(), a_profile(hide=(".env*", "/sub/"), unprotect=(".git",)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the agent's directory, secrets beside it, and what the container mounts."""
    folder = tmp_path_factory.mktemp("oracle")
    for name in ("cwd", "snapshot"):
        (folder / name).mkdir()
    plant(folder / "outside")
    return folder


@pytest.fixture(scope="module")
def eyes(engine, sandbox_image, place: Path) -> Iterator[Eyes]:
    """One container for all batches: what is mounted changes beneath it."""
    with Eyes.open(engine, place, sandbox_image) as eyes:
        yield eyes


def trees(place: Path, random: Random, profile: Profile) -> Iterator[Grown]:
    """A tree as its snapshot, then another one bare, both where the container sees them."""
    clear(place / "cwd")
    clear(place / "snapshot")
    tree = grow(random, place / "cwd", outside=place / "outside")
    take_snapshot(
        place / "cwd",
        place / "snapshot",
        read=profile.read,
        hide=profile.hide,
        max_bytes=10_000_000,
        max_files=1000,
        allow_hard_links=False,
    )
    yield tree
    clear(place / "snapshot")
    tree = grow(random, place / "snapshot", outside=place / "outside")
    open_up(place / "snapshot")
    yield tree


def run(place: Path, eyes: Eyes, *, seed: int, cases: int, judge: Judge) -> Tally:
    """Try that many cases."""
    random, tally = Random(seed), Tally()
    while tally.cases < cases:
        profile = random.choice(BOTH_PROFILES)
        for tree in trees(place, random, profile):
            batch(place, eyes, random=random, tree=tree, profile=profile, judge=judge, tally=tally)
    return tally


def batch(place: Path, eyes: Eyes, *, random: Random, tree: Grown, profile: Profile, judge: Judge, tally: Tally) -> None:
    """Try one tree's cases in one exchange with the container."""
    cases = [case for _ in range(PER_TREE) if (case := draw(random, tree, profile, place)) is not None]
    with Beneath.open(place / "snapshot") as beneath:
        decisions = [judge(case, profile, SnapshotView(beneath)) for case in cases]
    asked = [
        (*case.spellings(), str(decision.paths[0].resolved) if decision.paths else "/")
        for case, decision in zip(cases, decisions, strict=True)
    ]
    for case, decision, got in zip(cases, decisions, eyes.look_thrice(asked), strict=True):
        compare(case, decision, got, tree, tally)


def draw(random: Random, tree: Grown, profile: Profile, place: Path) -> Case | None:
    """One case: now and then a plain file that nothing hides."""
    if random.random() < 0.15 and (plain := plain_argument(random, tree)) is not None:
        text, path = plain
        hidden = bool(profile.hide) and path.startswith("sub/")
        return None if hidden else a_case(random, text, path)
    return a_case(random, argument(random, tree, outside=place / "outside"), None)


def test_what_is_allowed_opens_exactly_what_was_proven_inside(place: Path, eyes: Eyes) -> None:
    """R46-R50, C21, case 107: nothing readable outside is ever allowed, nothing plainly inside is refused."""
    seed = SEED or secrets.randbits(32)

    tally = run(place, eyes, seed=seed, cases=CASES, judge=the_gate)

    print(f"seed {seed}, {tally.cases} cases; {dict(tally.verdicts)}; opened {dict(tally.arrived)}")
    assert (seed, tally.unsafe[:5], len(tally.unsafe)) == (seed, [], 0)
    assert (seed, tally.over_denied[:5], len(tally.over_denied)) == (seed, [], 0)
    assert min(tally.verdicts[word] for word in ("allow", "ask", "outside", "kernel_path", "link_loop")) > 0
    assert min(tally.arrived[word] for word in ("inside", "outside", "nowhere")) > CASES // 20


def naive(case: Case, profile: Profile, view: DirectoryView) -> Decision:
    """A gate that only collapses text: what this project must not be."""
    collapsed = posixpath.normpath(posixpath.join("/workspace", case.text))
    decision = the_gate(Case(tool="Read", text="gone.txt"), profile, view)
    if not collapsed.startswith("/workspace"):
        return the_gate(Case(tool="Read", text="/etc"), profile, view)
    path = ResolvedPath(asked=case.text, resolved=Path(collapsed))
    return Decision(**{**{name: getattr(decision, name) for name in Decision.__slots__}, "paths": (path,)})


def test_the_oracle_catches_a_gate_that_only_collapses_text(place: Path, eyes: Eyes) -> None:
    """The oracle itself can fail."""
    tally = run(place, eyes, seed=7, cases=600, judge=naive)

    assert len(tally.unsafe) > 20


def test_a_pattern_that_is_allowed_matches_nothing_outside(place: Path, eyes: Eyes) -> None:
    """R50; cases 37, 39: read as a shell reads it, which expands more than any search tool, and follows links."""
    random, outside, allowed = Random(SEED), [], 0
    for _ in range(max(4, CASES // 200)):
        tree = next(trees(place, random, BOTH_PROFILES[0]))
        patterns = [pattern(random, tree) for _ in range(100)]
        with Beneath.open(place / "snapshot") as beneath:
            context = PolicyContext(view=SnapshotView(beneath), tainted=False)
            kept = [text for text in patterns if allows(text, context)]
        allowed += len(kept)
        found = zip(kept, eyes.match(kept), strict=True)
        outside += [(text, place) for text, places in found for place in places if not place.startswith("/workspace")]

    assert outside == []
    assert allowed > 50


def allows(text: str, context: PolicyContext) -> bool:
    """Whether a Glob of this pattern runs."""
    return decide(a_call("Glob", {"pattern": text}), BOTH_PROFILES[0], context).verdict is Verdict.ALLOW


def pattern(random: Random, tree: Grown) -> str:
    """A glob pattern: names, wildcards, and ways to spell a parent or a root.

    Not `.*`: a shell lets it match `..`; a search tool walks entries, of which `..` is none.
    """
    words = ("*", "**", "?", "*.txt", "[a-z]*", "{a,sub}", "..", "{.,}.", "[.][.]", "?.", ".", "", "~", "etc", "passwd")
    more = ("{..,a}", "{/etc,a}", "@(..)", "\\.\\.", "[!a]", "{a,/}", "{.}{.}", "{,.}{.,}", "[.-.].", "!(a)", ".[.]", "{/,}etc")
    names = [name for path in tree.names for name in path.split("/")]
    parts = [random.choice((*words, *more, *names)) for _ in range(random.randint(1, 4))]
    return random.choice(("", "", "", "/", "/workspace/", "~/", "{/,}", "./")) + "/".join(parts)
