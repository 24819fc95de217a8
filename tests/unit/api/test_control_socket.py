"""The control socket as the kernel and other processes see it (W1, case 36, design.md §8)."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from runner.api.access import Access, People
from runner.api.client import Client
from runner.api.peer import Peer, peer_of
from runner.api.server import ControlServer, bind_private
from runner.errors import SettingsError, SupervisorUnavailableError
from tests.helpers.fake_service import OPEN, FakeService, served


def test_directory_and_socket_are_private(tmp_path: Path) -> None:
    """W1: 0700 and 0600, whatever the umask."""
    before = os.umask(0)
    try:
        with served(FakeService(), tmp_path / "run") as path:
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_ISSOCK(path.stat().st_mode)
        assert not path.exists()
    finally:
        os.umask(before)


def test_a_path_of_any_length_can_be_served_and_reached(tmp_path: Path) -> None:
    """design.md §8: over 107 bytes neither bind nor connect works directly."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    with served(FakeService(), deep) as path, Client(path) as client:
        assert client.record("status")["pid"] == 1


def test_a_second_supervisor_is_refused_and_the_first_lives_on(tmp_path: Path) -> None:
    with served(FakeService(), tmp_path / "run") as path:
        second = ControlServer(FakeService(), directory=path.parent, approvers=(), admission=OPEN)
        with pytest.raises(SupervisorUnavailableError, match="another supervisor"):
            asyncio.run(second.start())
        asyncio.run(second.stop())
        with Client(path) as client:
            assert client.record("status")["pid"] == 1


def test_the_socket_of_a_dead_supervisor_is_replaced(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    bind_private(tmp_path / "control.sock").close()
    with served(FakeService(), tmp_path) as path, Client(path) as client:
        assert client.record("status")["pid"] == 1


@pytest.mark.parametrize("plant", ["file", "link", "directory"])
def test_what_is_planted_at_the_sockets_path_is_refused_and_left(plant: str, tmp_path: Path) -> None:
    """Case 36."""
    tmp_path.chmod(0o700)
    path = tmp_path / "control.sock"
    if plant == "file":
        path.write_text("theirs")
    elif plant == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir()
    with pytest.raises(SupervisorUnavailableError, match="no socket of ours"):
        asyncio.run(ControlServer(FakeService(), directory=tmp_path, approvers=(), admission=OPEN).start())
    assert os.path.lexists(path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_directory_open_to_others_is_refused(tmp_path: Path) -> None:
    """W1."""
    tmp_path.chmod(0o755)
    with pytest.raises(SettingsError):
        asyncio.run(ControlServer(FakeService(), directory=tmp_path, approvers=(), admission=OPEN).start())


def test_no_supervisor_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(SupervisorUnavailableError) as caught, Client(tmp_path / "none" / "control.sock") as client:
        client.record("status")
    assert caught.value.exit_code == 9
    assert "runner up" in str(caught.value.resolution)


def test_the_kernel_says_who_connected(tmp_path: Path) -> None:
    """W1: identity is the kernel's word, not the wire's."""
    listener = bind_private(tmp_path / "s")
    listener.settimeout(5)
    with listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "s"))
        accepted, _ = listener.accept()
        with accepted:
            assert peer_of(accepted) == Peer(uid=os.geteuid(), pid=os.getpid(), ours=True)


PEOPLE = People(operator=1000, approvers=frozenset({2000}))


@pytest.mark.parametrize(
    ("uid", "ours", "allowed"),
    [
        (1000, True, {Access.READ, Access.DECIDE, Access.OPERATE}),
        (0, True, {Access.READ, Access.DECIDE, Access.OPERATE}),
        (2000, True, {Access.READ, Access.DECIDE}),
        (3000, True, set()),
        (10001, True, set()),
        (1000, False, set()),
        (2000, False, set()),
    ],
)
def test_each_kind_of_caller_may_do_what_the_table_says(uid: int, ours: bool, allowed: set[Access]) -> None:
    """W1, W6, C18: a process in another pid namespace may do nothing, whatever its uid."""
    peer = Peer(uid=uid, pid=5, ours=ours)
    assert {access for access in Access if PEOPLE.may(peer, access)} == allowed


def test_stopping_does_not_wait_for_a_client_that_stays(tmp_path: Path) -> None:
    """A kept connection ends with the server; its file is gone."""
    with served(FakeService(), tmp_path / "run") as path, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    assert not path.exists()
