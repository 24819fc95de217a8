"""The Docker Engine of this machine: ask it, start it when nobody does, stop only what set-up started.

An engine counts when its socket answers; a docker client on the PATH proves nothing. Never ends a process it has no record of.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scripts.machine import systemd_runs
from scripts.progress import SetupError, done, say, tail

DEFAULT = "unix:///var/run/docker.sock"
OLDEST_API = (1, 41)  #: Docker 20.10
#: Where set-up notes the dockerd it started; only root starts one.
RUN_DIR = Path("/run/runner-setup")
READY = 120.0  #: seconds a started engine may take to answer
#: Pid files a killed engine leaves. It takes a reused pid in one for a live engine, or for its containerd, and may end it.
PIDFILES = ((Path("/var/run/docker.pid"), "dockerd"), (Path("/var/run/docker/containerd/containerd.pid"), "containerd"))
#: Containers here have no network, so an engine that cannot make its bridge on this kernel still serves.
ATTEMPTS: tuple[tuple[str, ...], ...] = ((), ("--bridge=none", "--iptables=false", "--ip6tables=false"))


class Answer(NamedTuple):
    """What came back from an engine's door."""

    alive: bool
    where: str
    detail: str  #: the API version, or why it does not serve
    refused: bool = False  #: an engine may be there, but this user may not talk to it


class Record(NamedTuple):
    """A dockerd that set-up started: its pid, and the kernel's start time so that a reused pid is not mistaken for it."""

    pid: int
    started: int


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("engine", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def address(environment: Mapping[str, str]) -> str:
    """The engine's address: `DOCKER_HOST`, else the default socket."""
    return environment.get("DOCKER_HOST") or DEFAULT


def ping(where: str, *, timeout: float = 5.0) -> Answer:
    """Ask the engine at `where` for its API version, over its own HTTP."""
    try:
        status, body, version = _ask(where, timeout)
    except PermissionError:
        return Answer(alive=False, where=where, detail="this user may not use the socket", refused=True)
    except OSError as error:
        return Answer(alive=False, where=where, detail=(error.strerror or str(error) or type(error).__name__).lower())
    except (http.client.HTTPException, ValueError) as error:
        return Answer(alive=False, where=where, detail=str(error) or type(error).__name__)
    if status != 200 or body.strip() != b"OK" or not version:
        return Answer(alive=False, where=where, detail=f"answered {status}, but not as a Docker Engine does")
    if _numbers(version) < OLDEST_API:
        return Answer(alive=False, where=where, detail=f"speaks API {version}; runner needs 1.41 (Docker 20.10) or later")
    return Answer(alive=True, where=where, detail=f"API {version}")


def start(*, run_dir: Path = RUN_DIR) -> Answer:
    """Start the installed engine and wait until it answers at the default socket.

    Raises:
        SetupError: It did not come up; the tail of its log is in the message.
    """
    answer = ping(DEFAULT)
    if answer.alive:
        return answer
    if systemd_runs():
        code = subprocess.run(["systemctl", "start", "docker"], check=False, stdin=subprocess.DEVNULL).returncode
        answer = _until_alive(None)
        if code or not answer.alive:
            raise SetupError(
                "cannot start the Docker Engine: systemctl start docker failed", hint="see: journalctl -u docker -n 50"
            )
        return answer
    return _start_by_hand(run_dir)


def stop(*, run_dir: Path = RUN_DIR, patience: float = 20.0) -> bool:
    """End the dockerd that set-up started, if it still runs; False when there is none."""
    record = read_record(run_dir)
    (run_dir / "dockerd.json").unlink(missing_ok=True)
    if record is None or started_at(record.pid) != record.started:
        return False
    os.kill(record.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while started_at(record.pid) == record.started:
        if time.monotonic() > deadline:
            os.kill(record.pid, signal.SIGKILL)
        time.sleep(0.1)
    return True


def read_record(run_dir: Path = RUN_DIR) -> Record | None:
    """The dockerd that set-up noted, or None."""
    try:
        fields = json.loads((run_dir / "dockerd.json").read_text(encoding="utf-8"))
        return Record(pid=int(fields["pid"]), started=int(fields["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def started_at(pid: int) -> int | None:
    """When the kernel started process `pid`, in ticks since boot; None when it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state == "Z" else int(fields[18])


def _ask(where: str, timeout: float) -> tuple[int, bytes, str]:
    scheme, _, rest = where.partition("://")
    connection: http.client.HTTPConnection
    if scheme == "unix":
        connection = _UnixConnection(rest, timeout)
    elif scheme == "tcp":
        connection = http.client.HTTPConnection(rest, timeout=timeout)
    else:
        raise ValueError("set-up can ask unix:// and tcp:// addresses only")
    try:
        connection.request("GET", "/_ping")
        reply = connection.getresponse()
        return reply.status, reply.read(64), reply.getheader("Api-Version") or ""
    finally:
        connection.close()


def clear_stale(pidfile: Path, command: str) -> bool:
    """Remove a pid file whose process is gone or is no `command`; False where it may still mean something."""
    try:
        pid = int(pidfile.read_text(encoding="utf-8"))
    except OSError:
        return False
    except ValueError:
        pid = -1
    comm = Path(f"/proc/{pid}/comm")
    if comm.exists() and comm.read_text(encoding="utf-8").strip() == command:
        return False
    pidfile.unlink(missing_ok=True)
    return True


def _start_by_hand(run_dir: Path) -> Answer:
    if not shutil.which("dockerd"):
        raise SetupError(
            "cannot start the Docker Engine: there is no dockerd on the PATH", hint="reinstall docker.io and try again"
        )
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = run_dir / "dockerd.log"
    for flags in ATTEMPTS:
        for pidfile, command in PIDFILES:
            clear_stale(pidfile, command)
        if flags:
            say(f"      dockerd did not come up:\n{tail(log, 5)}\n      trying again without a network of its own")
        with log.open("ab") as out:
            process = subprocess.Popen(
                ["dockerd", *flags], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        record = {"pid": process.pid, "started": started_at(process.pid)}
        (run_dir / "dockerd.json").write_text(json.dumps(record), encoding="utf-8")
        answer = _until_alive(process)
        if answer.alive:
            done(f"dockerd runs as process {process.pid}, log in {log}; `make stop-engine` ends it")
            return answer
        stop(run_dir=run_dir)
        process.wait()
    raise SetupError(f"cannot start the Docker Engine:\n{tail(log)}", hint=f"the whole log is in {log}")


def _until_alive(process: subprocess.Popen[bytes] | None) -> Answer:
    deadline = time.monotonic() + READY
    while True:
        answer = ping(DEFAULT)
        ended = process is not None and process.poll() is not None
        if answer.alive or ended or time.monotonic() > deadline:
            return answer
        time.sleep(0.25)


def _numbers(version: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        return ()


def main(arguments: list[str]) -> int:
    """`ping` exits 0 when an engine answers; `stop` ends the one that set-up started."""
    if arguments == ["ping"]:
        answer = ping(address(os.environ))
        say(f"{answer.where}: {answer.detail}")
        return 0 if answer.alive else 1
    if arguments == ["stop"]:
        say("the dockerd that set-up started has ended" if stop() else "set-up has no running dockerd of its own")
        return 0
    say("usage: python3 -m scripts.engine ping|stop")
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
