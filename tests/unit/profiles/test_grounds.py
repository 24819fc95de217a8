"""Where no agent's directory may be: told before it is published, and again at each use (R62, G5, case 106)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.profiles.grounds import unfit
from runner.profiles.survey import survey
from runner.supervisor.shipped import FOLDER
from tests.helpers.builders import a_profile


@pytest.mark.parametrize(
    "place",
    [
        *(
            "/",
            "/proc/self/cwd",
            "/proc/1/root",
            "/sys/fs",
            "/dev/shm/x",
            "/etc",
            "/etc/agents",
            "/boot",
            "/usr",
            "/usr/share/x",
        ),
        *("/run", "/run/docker", "/var/run/x", "/bin", "/lib", "/lib64/x", "/sbin", "/var/lib/docker/volumes", "/usr/local"),
    ],
)
def test_the_systems_own_directories_are_none(place: str) -> None:
    assert "no place for an agent" in str(unfit(Path(place)))


@pytest.mark.parametrize(
    "place",
    ["/srv/agents/a", "/home/ann/agents/a", "/etcetera", "/usr/local/agents", "/run/user/1000/a", "/var/lib/agents", "/opt/a"],
)
def test_an_operators_own_are_some(place: str) -> None:
    assert unfit(Path(place)) is None


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A supervisor's state directory, with what lies in one."""
    folder = tmp_path / "state"
    for name in ("attempts/r_1-1-1/gateway", f"{FOLDER}/reader/docs", "scratch"):
        (folder / name).mkdir(parents=True)
    for name in ("runner.db", "lock"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("place", ["", "attempts", "attempts/r_1-1-1/gateway", "scratch", FOLDER])
def test_what_a_supervisor_keeps_is_none(state: Path, place: str) -> None:
    """Sockets of other runs, and copies of other agents' directories."""
    assert "what a supervisor keeps" in str(survey(a_profile(cwd=state / place)).unfit)


@pytest.mark.parametrize("place", [f"{FOLDER}/reader", f"{FOLDER}/reader/docs", "../elsewhere"])
def test_directories_of_shipped_agents_stand_in_it_all_the_same(state: Path, place: str) -> None:
    (state.parent / "elsewhere").mkdir()
    assert survey(a_profile(cwd=(state / place).resolve())).unfit is None


def test_a_path_is_shown_without_what_a_terminal_would_obey(state: Path) -> None:
    odd = state / "a\x1b[2J"
    odd.mkdir()
    assert "\x1b" not in str(unfit(odd))
