"""Which container a process stands in, from its control groups as engines write them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from runner.gateway import Residents

ID, OTHER = "ab" * 32, "cd" * 32


def read_as(monkeypatch: pytest.MonkeyPatch, groups: str) -> None:
    """What the kernel says of every process."""
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: groups)


@pytest.mark.parametrize(
    "groups",
    [
        f"12:pids:/docker/{ID}\n11:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n",
        f"0::/system.slice/docker-{ID}.scope\n",
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container\n",
        f"0::/../{ID}\n",
        f"0::/docker/{OTHER}/docker/{ID}\n",
    ],
    ids=["version 1", "version 2", "rootless", "from within a namespace", "an engine in a container"],
)
def test_a_process_of_the_container_is_let_in_once_it_is_known_which(monkeypatch: pytest.MonkeyPatch, groups: str) -> None:
    read_as(monkeypatch, groups)
    residents = Residents()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert residents(ours) is False
        residents.are_of(ID)
        assert residents(ours) is True


@pytest.mark.parametrize(
    "groups",
    ["", "0::/\n", "0::/user.slice/session-1.scope\n", f"0::/docker/{OTHER}\n", f"0::/{ID}ab\n", f"0::/docker/{ID[:-2]}\n"],
)
def test_any_other_process_is_not(monkeypatch: pytest.MonkeyPatch, groups: str) -> None:
    read_as(monkeypatch, groups)
    residents = Residents()
    residents.are_of(ID)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert residents(ours) is False


def test_a_process_of_which_nothing_can_be_read_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail closed: hidden processes, a connection that is no unix socket's."""

    def hidden(*_: object, **__: object) -> str:
        raise PermissionError

    residents = Residents()
    residents.are_of(ID)
    with socket.socket(socket.AF_INET) as connection:
        assert residents(connection) is False
    ours, theirs = socket.socketpair()
    with ours, theirs:
        monkeypatch.setattr(Path, "read_text", hidden)
        assert residents(ours) is False
