"""A PostgreSQL of the tests' own: a cluster in a temporary folder, on a unix socket, run by a user without power."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from runner.store import Store, schema

_USER = "postgres"
#: Nothing here has to outlive a power cut; each of these would cost every test a wait for the disk.
_SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200")
_SHARED = "shared"
_numbers = itertools.count(1)


class Cluster:
    """One running server."""

    def __init__(self, folder: Path, account: str) -> None:
        self._folder = folder
        self._account = account

    def url(self, database: str) -> str:
        """What RUNNER_DATABASE_URL would say."""
        return f"postgresql+psycopg://{self._account}@/{database}?host={self._folder}"

    def connect(self, database: str) -> psycopg.Connection:
        """As its superuser, each statement by itself."""
        return psycopg.connect(f"postgresql://{self._account}@/{database}?host={self._folder}", autocommit=True)

    def create(self) -> str:
        """A new database with nothing in it; its URL."""
        name = f"test_{next(_numbers)}"
        with self.connect("postgres") as conn:
            conn.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def emptied(self) -> str:
        """The one database that tests share, with our tables and no row; its URL. Emptying is faster than making another."""
        with self.connect(_SHARED) as conn:
            conn.execute(f"TRUNCATE {', '.join(schema.metadata.tables)}".encode())
        return self.url(_SHARED)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A server for as long as the context lasts; whoever is root hands it to a user that is not."""
    root = os.geteuid() == 0
    account = pwd.getpwnam(_USER) if root else pwd.getpwuid(os.geteuid())
    folder = Path(tempfile.mkdtemp(prefix="runner-pg-"))
    os.chown(folder, account.pw_uid, account.pw_gid)
    who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if root else {}
    data = folder / "data"
    command = [_program("initdb"), "-D", str(data), "--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
    server: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **who)  # type: ignore[call-overload]
        options = [part for setting in _SETTINGS for part in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(  # type: ignore[call-overload]
                [_program("postgres"), "-D", str(data), "-k", str(folder), *options], stdout=log, stderr=log, cwd=folder, **who
            )
        found = Cluster(folder, account.pw_name)
        _wait(found, server, folder / "log")
        _prepare(found)
        yield found
    finally:
        if server is not None:
            server.terminate()
            server.wait(30)
        shutil.rmtree(folder)


def _program(name: str) -> str:
    """Debian keeps the server's programs off the PATH, a folder for each version."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    program = str(found[-1]) if found else shutil.which(name)
    assert program is not None, "PostgreSQL is not installed: scripts/setup.sh --for-tests"
    return program


def _wait(cluster: Cluster, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while True:
        assert server.poll() is None, f"PostgreSQL ended:\n{log.read_text()[-2000:]}"
        assert time.monotonic() < end, "PostgreSQL did not answer"
        try:
            cluster.connect("postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return


def _prepare(cluster: Cluster) -> None:
    with cluster.connect("postgres") as conn:
        conn.execute(f"CREATE DATABASE {_SHARED}".encode())
    store = Store(cluster.url(_SHARED))
    store.open()
    store.close()
