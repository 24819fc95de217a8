"""An agent's directory is looked at again at each use: what was published may have become another (cases 34, 48, 106)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.broker import Order
from runner.broker.effects import capture, examine, perform
from runner.broker.values import Impossible
from runner.errors import SnapshotError
from runner.model import WORKSPACE, ResolvedPath
from runner.profiles.findings import shared
from runner.sandbox import dedicated as module
from runner.sandbox.dedicated import dedicated, place_of
from runner.sandbox.snapshot import directory_of, take_snapshot
from tests.helpers.builders import a_profile


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's home, with a secret in it."""
    place = tmp_path / "home/ann"
    place.mkdir(parents=True)
    (place / "secret.txt").write_text("SECRET")
    monkeypatch.setattr(module, "homes", lambda: {place})
    return place


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    place = tmp_path / "agents/scribe"
    place.mkdir(parents=True)
    (place / "in.txt").write_text("INSIDE")
    return place


def becomes_a_link(cwd: Path, home: Path) -> None:
    shutil.rmtree(cwd)
    cwd.symlink_to(home)


def becomes_a_link_that_stays_inside(cwd: Path, home: Path) -> None:
    del home
    cwd.rename(cwd.parent / "real")
    cwd.symlink_to("real")


def becomes_a_link_to_the_kernel(cwd: Path, home: Path) -> None:
    del home
    shutil.rmtree(cwd)
    cwd.symlink_to("/proc/self/cwd")


CHANGES = [becomes_a_link, becomes_a_link_that_stays_inside, becomes_a_link_to_the_kernel]
WHY = "it is a link now"


@pytest.mark.parametrize("change", CHANGES)
def test_a_directory_that_became_a_link_is_neither_copied_nor_written(
    cwd: Path, home: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    """Cases 48, 106; issue 7 bad input: refused with the reason, when the run starts and when an effect is carried out."""
    change(cwd, home)
    with pytest.raises(SnapshotError, match=WHY) as caught:
        take_snapshot(cwd, tmp_path / "copy", read=["**"], hide=[], max_bytes=9999, max_files=99, allow_hard_links=False)
    assert "not followed" in (caught.value.resolution or "")
    assert not (tmp_path / "copy").exists()
    order = Order(
        tool="Write",
        raw='{"file_path": "new.txt", "content": "x"}',
        paths=(ResolvedPath(asked="new.txt", resolved=WORKSPACE / "new.txt"),),
        cwd=cwd,
        pre_images={str(WORKSPACE / "new.txt"): None},
    )
    done = perform(order)
    assert (done.state, WHY in done.outcome) == ("failed", True)
    found = capture(order)
    assert isinstance(found, Impossible)
    assert WHY in found.reason
    assert examine(order) == "other"
    assert sorted(path.name for path in home.iterdir()) == ["secret.txt"]


def test_a_directory_that_leads_to_a_home_by_a_link_above_it_is_refused(cwd: Path, home: Path, tmp_path: Path) -> None:
    """Case 106: by what was opened, and not by what it is called."""
    (tmp_path / "other").mkdir()
    shutil.rmtree(cwd.parent)
    cwd.parent.symlink_to(home.parent.parent)
    with pytest.raises(SnapshotError, match="holds the home directory"):
        directory_of(cwd.parent / "home")
    with pytest.raises(SnapshotError, match="holds the home directory"):
        directory_of(cwd.parent / "home/ann")
    with directory_of(cwd.parent / "other") as found:
        assert place_of(found) == tmp_path / "other"


@pytest.mark.parametrize("place", ["/", "/proc", "/sys/kernel", "/dev"])
def test_the_systems_own_directories_are_refused(place: str) -> None:
    """Case 106."""
    with pytest.raises(PermissionError, match="no place for an agent"):
        dedicated(Path(place))


def test_what_is_not_there_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        dedicated(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        dedicated(tmp_path / "absent")


def test_one_directory_by_two_names_is_shared(tmp_path: Path) -> None:
    """Case 106; issue 7 bad input: another agent's directory, by whatever name."""
    (tmp_path / "real/docs").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    mine = a_profile(name="mine", cwd=tmp_path / "alias/docs")
    assert list(shared(mine, [a_profile(name="other", cwd=tmp_path / "real/docs")])) == ["it is shared with the agent other"]
    assert list(shared(mine, [a_profile(name="other", cwd=tmp_path / "real")])) == ["it is shared with the agent other"]
    assert list(shared(mine, [a_profile(name="other", cwd=tmp_path / "real/more")])) == []
