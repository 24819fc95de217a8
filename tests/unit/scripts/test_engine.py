"""Set-up asks the engine's socket, and ends only what it started."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.engine import DEFAULT, Answer, Record, address, clear_stale, ping, read_record, started_at, stop

ENGINE = b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK"


@contextmanager
def answering(path: Path, reply: bytes) -> Iterator[str]:
    """A unix socket that gives each client the same reply."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(reply)

    with socketserver.UnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"unix://{path}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def a_sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield process
        finally:
            process.kill()


def note(run_dir: Path, pid: int, started: int | None) -> None:
    (run_dir / "dockerd.json").write_text(json.dumps({"pid": pid, "started": started}), encoding="utf-8")


def test_an_engine_whose_socket_answers_is_used(tmp_path: Path) -> None:
    with answering(tmp_path / "e.sock", ENGINE) as where:
        assert ping(where) == Answer(alive=True, where=where, detail="API 1.41")


def test_a_socket_file_that_nobody_serves_is_no_engine(tmp_path: Path) -> None:
    (tmp_path / "e.sock").touch()
    where = f"unix://{tmp_path}/e.sock"
    assert ping(where) == Answer(alive=False, where=where, detail="connection refused")


def test_a_missing_socket_is_no_engine(tmp_path: Path) -> None:
    where = f"unix://{tmp_path}/none.sock"
    assert ping(where) == Answer(alive=False, where=where, detail="no such file or directory")


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (ENGINE.replace(b"1.41", b"1.40"), "speaks API 1.40; runner needs 1.41 (Docker 20.10) or later"),
        (ENGINE.replace(b"1.41", b"new"), "speaks API new; runner needs 1.41 (Docker 20.10) or later"),
        (ENGINE.replace(b"Api-Version", b"X-Version"), "answered 200, but not as a Docker Engine does"),
        (ENGINE.replace(b"200 OK", b"500 Oh"), "answered 500, but not as a Docker Engine does"),
        (ENGINE.replace(b"\r\n\r\nOK", b"\r\n\r\nhi"), "answered 200, but not as a Docker Engine does"),
        (b"SSH-2.0-other\r\n", "SSH-2.0-other\r\n"),
    ],
)
def test_another_service_on_the_socket_is_no_engine(tmp_path: Path, reply: bytes, detail: str) -> None:
    with answering(tmp_path / "e.sock", reply) as where:
        assert ping(where) == Answer(alive=False, where=where, detail=detail)


@pytest.mark.parametrize("where", ["ssh://host", "npipe:////./pipe", "/var/run/docker.sock", ""])
def test_an_address_set_up_cannot_ask_is_no_engine(where: str) -> None:
    assert ping(where) == Answer(alive=False, where=where, detail="set-up can ask unix:// and tcp:// addresses only")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, DEFAULT), ({"DOCKER_HOST": ""}, DEFAULT), ({"DOCKER_HOST": "unix:///x"}, "unix:///x")],
)
def test_docker_host_says_where_the_engine_is(environment: dict[str, str], expected: str) -> None:
    assert address(environment) == expected


def test_stop_ends_the_process_that_is_on_record(tmp_path: Path) -> None:
    with a_sleeper() as process:
        note(tmp_path, process.pid, started_at(process.pid))
        assert stop(run_dir=tmp_path)
        assert process.wait() == -15
    assert read_record(tmp_path) is None


def test_stop_leaves_a_process_that_only_has_the_same_pid(tmp_path: Path) -> None:
    with a_sleeper() as process:
        started = started_at(process.pid)
        assert started is not None
        note(tmp_path, process.pid, started + 1)
        assert not stop(run_dir=tmp_path)
        assert process.poll() is None
        assert started_at(process.pid) == started


def test_stop_without_a_record_ends_nothing(tmp_path: Path) -> None:
    assert not stop(run_dir=tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": "x", "started": 1}', '{"pid": 1, "started": null}'])
def test_a_damaged_record_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "dockerd.json").write_text(text, encoding="utf-8")
    assert read_record(tmp_path) is None


def test_a_record_is_read_back_whole(tmp_path: Path) -> None:
    note(tmp_path, 4, 5)
    assert read_record(tmp_path) == Record(pid=4, started=5)


def test_a_pid_file_of_a_dead_or_different_process_is_stale(tmp_path: Path) -> None:
    """A killed engine leaves it; the next one would take whoever has that pid now for itself."""
    pidfile = tmp_path / "docker.pid"
    with a_sleeper() as process:
        pidfile.write_text(str(process.pid))
        assert clear_stale(pidfile, "dockerd")
        assert process.poll() is None
    assert not pidfile.exists()
    pidfile.write_text("junk")
    assert clear_stale(pidfile, "dockerd")
    assert not clear_stale(pidfile, "dockerd")


def test_the_pid_file_of_a_live_engine_is_left(tmp_path: Path) -> None:
    pidfile = tmp_path / "docker.pid"
    pidfile.write_text(f"{os.getpid()}\n")
    assert not clear_stale(pidfile, Path("/proc/self/comm").read_text().strip())
    assert pidfile.exists()
