"""Attack family: a path that is not what it says, on a real directory with real links (cases A, B, C).

Each attack is tried on `decide` with the product's own view of a directory, and the oracle is the kernel: what a process would
really open.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.model import ResolvedPath, Verdict
from runner.paths import Want, resolve
from runner.policy import PolicyContext, decide
from runner.sandbox.beneath import Beneath
from runner.sandbox.view import SnapshotView
from tests.helpers.builders import a_call, a_profile


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """R/work with files, R/work-evil and R/secret.txt beside it."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("OUTSIDE-SECRET")
    (work / "in.txt").write_text("INSIDE-DATA")
    (work / "sub/a.txt").write_text("INSIDE-DATA")
    (tmp_path / "work-evil").mkdir()
    (tmp_path / "work-evil/s.txt").write_text("OUTSIDE-SECRET")
    return work


@pytest.fixture
def context(workspace: Path) -> Iterator[PolicyContext]:
    """The product's view of that directory."""
    with Beneath.open(workspace) as beneath:
        yield PolicyContext(view=SnapshotView(beneath))


def verdict(context: PolicyContext, tool: str, **arguments: str) -> Verdict:
    """The verdict for one call of an agent with every file tool."""
    return decide(a_call(tool, dict(arguments)), a_profile(), context).verdict


def test_a_sibling_whose_name_begins_like_the_root_is_outside(workspace: Path, context: PolicyContext) -> None:
    """Case 1."""
    evil = workspace.parent / "work-evil"

    assert verdict(context, "Read", file_path=f"{evil}/s.txt") is Verdict.DENY
    assert verdict(context, "Read", file_path="../work-evil/s.txt") is Verdict.DENY
    assert verdict(context, "Glob", pattern="*", path=str(evil)) is Verdict.DENY


@pytest.mark.parametrize("path", ["../secret.txt", "/workspace/../secret.txt", "sub/../../secret.txt", "gone/../../secret.txt"])
def test_parents_lead_nowhere(context: PolicyContext, path: str) -> None:
    """Cases 2, 3."""
    assert verdict(context, "Read", file_path=path) is Verdict.DENY
    assert verdict(context, "Write", file_path=path, content="x") is Verdict.DENY
    assert verdict(context, "Grep", pattern="SECRET", path=path) is Verdict.DENY


def test_the_hosts_own_path_of_the_directory_is_outside(workspace: Path, context: PolicyContext) -> None:
    """Case 35: a path is judged as the container sees it."""
    assert verdict(context, "Read", file_path=str(workspace / "in.txt")) is Verdict.DENY


@pytest.mark.parametrize(
    ("target", "path", "allowed"),
    [
        ("../secret.txt", "link", False),
        ("..", "link/secret.txt", False),
        ("..", "link/new.txt", False),
        ("../nothing", "link", False),
        ("/etc/hostname", "link", False),
        ("/proc/self/root", "link/etc/passwd", False),
        ("/proc/self/cwd", "link/in.txt", False),
        ("/dev/zero", "link", False),
        ("link", "link", False),
        ("link/../in.txt", "link", False),
        ("../work/in.txt", "link", False),
        ("sub", "link/a.txt", True),
        ("sub/a.txt", "link", True),
        ("./sub/../sub/a.txt", "link", True),
        ("/workspace/sub/a.txt", "link", True),
        ("/workspace", "link/sub/a.txt", True),
        ("sub/nothing", "link", True),
    ],
)
def test_a_link_is_followed_as_the_container_would(
    workspace: Path, context: PolicyContext, target: str, path: str, allowed: bool
) -> None:
    """Cases 21-26, 32, 33, 35; R49."""
    (workspace / "link").symlink_to(target)

    assert (verdict(context, "Read", file_path=path) is Verdict.ALLOW) is allowed
    assert (verdict(context, "Write", file_path=path, content="x") is Verdict.ASK) is allowed


def test_a_chain_of_links_is_judged_at_its_end(workspace: Path, context: PolicyContext) -> None:
    (workspace / "one").symlink_to("two")
    (workspace / "two").symlink_to("sub/three")
    (workspace / "sub/three").symlink_to("../../secret.txt")
    (workspace / "sub/four").symlink_to("a.txt")
    (workspace / "five").symlink_to("sub/four")

    assert verdict(context, "Read", file_path="one") is Verdict.DENY
    assert verdict(context, "Read", file_path="five") is Verdict.ALLOW


def test_a_link_planted_while_nothing_looked_is_seen_at_the_next_call(workspace: Path, context: PolicyContext) -> None:
    """Case 48: the answer is about now; the broker checks once more when it acts."""
    assert verdict(context, "Write", file_path="sub/t.txt", content="x") is Verdict.ASK
    (workspace / "sub/a.txt").unlink()
    (workspace / "sub").rmdir()
    (workspace / "sub").symlink_to("..")

    assert verdict(context, "Write", file_path="sub/t.txt", content="x") is Verdict.DENY


def test_a_hard_link_to_something_outside_is_refused(workspace: Path, context: PolicyContext) -> None:
    """Case 29."""
    os.link(workspace.parent / "secret.txt", workspace / "hard.txt")

    for tool, arguments in [
        ("Read", {"file_path": "hard.txt"}),
        ("Grep", {"pattern": "SECRET", "path": "hard.txt"}),
        ("Write", {"file_path": "hard.txt", "content": "x"}),
    ]:
        assert verdict(context, tool, **arguments) is Verdict.DENY
    allowed = decide(a_call("Read", {"file_path": "hard.txt"}), a_profile(allow_hard_links=True), context)
    assert allowed.verdict is Verdict.ALLOW


def test_sockets_and_pipes_are_refused_without_being_opened(workspace: Path, context: PolicyContext) -> None:
    """Case 107: opening a pipe would block."""
    os.mkfifo(workspace / "pipe")
    here = os.open(workspace, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(f"/proc/self/fd/{here}/socket")
    os.close(here)

    for name in ("pipe", "socket", "pipe/x"):
        assert verdict(context, "Read", file_path=name) is Verdict.DENY
        assert verdict(context, "Write", file_path=name, content="x") is Verdict.DENY


def test_the_path_max_trick_does_not_fool_the_resolver(workspace: Path, context: PolicyContext) -> None:
    """Case 28, with real directories: Python's realpath says inside, the kernel opens the secret."""
    here = os.open(workspace, os.O_RDONLY)
    for letter in "abcdefghijklmnop":
        os.mkdir(letter * 247, dir_fd=here)
        os.symlink(letter * 247, letter, dir_fd=here)
        below = os.open(letter * 247, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.symlink("../" * 17, "l" * 254, dir_fd=here)
    os.close(here)
    path = "/".join("abcdefghijklmnop") + "/" + "l" * 254 + "/secret.txt"

    assert (workspace / path).read_text() == "OUTSIDE-SECRET"
    assert verdict(context, "Read", file_path=path) is Verdict.DENY


def test_names_are_exact_bytes(workspace: Path, context: PolicyContext) -> None:
    """Cases 9, 13: nothing is decoded or normalised, and what does not exist is the tool's own error."""
    (workspace / "\u00e9").write_text("x")

    with Beneath.open(workspace) as beneath:
        view = SnapshotView(beneath)
        found = resolve("e\u0301", view, want=Want.NEW_OR_EXISTING_FILE)
        assert isinstance(found, ResolvedPath)
        assert found.resolved.name == "e\u0301"
        assert resolve("e\u0301", view, want=Want.EXISTING_FILE) != resolve("\u00e9", view, want=Want.EXISTING_FILE)
    for name in ("%2e%2e/secret.txt", "\uff0e\uff0e/secret.txt", "..\u2215secret.txt"):
        assert verdict(context, "Read", file_path=name) is Verdict.ALLOW


def test_a_file_named_like_a_home_is_a_file(workspace: Path, context: PolicyContext) -> None:
    """Cases 4, 6."""
    (workspace / "~").write_text("x")

    assert verdict(context, "Read", file_path="/workspace/~") is Verdict.ALLOW
    assert verdict(context, "Read", file_path="~") is Verdict.DENY


def test_a_root_that_is_reached_by_a_link_is_a_root(workspace: Path, tmp_path: Path) -> None:
    """Case 34."""
    (tmp_path / "alias").symlink_to(workspace)
    with Beneath.open(tmp_path / "alias") as beneath:
        context = PolicyContext(view=SnapshotView(beneath))
        assert verdict(context, "Read", file_path="in.txt") is Verdict.ALLOW
        assert verdict(context, "Read", file_path="../secret.txt") is Verdict.DENY


@pytest.mark.parametrize("name", [".git", ".claude"])
def test_a_redirected_configuration_directory_is_not_written_through(
    workspace: Path, context: PolicyContext, name: str
) -> None:
    """Case 47."""
    (workspace / name).symlink_to("sub")

    assert verdict(context, "Write", file_path=f"{name}/x", content="x") is Verdict.DENY
    assert verdict(context, "Write", file_path=f"./{name}/../{name}/x", content="x") is Verdict.DENY
