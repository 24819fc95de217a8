"""A Docker Engine of a test's own: without a network, restartable, ended with the test."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OwnEngine:
    """One dockerd with folders of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.host = f"unix://{folder}/docker.sock"

    def start(self) -> None:
        """Start it and wait until it answers."""
        folder = self._folder
        # In a network of its own: told to have no bridge, an engine removes the bridge of the machine's other engine too.
        command = [
            "unshare",
            "--net",
            "dockerd",
            "--data-root",
            f"{folder}/data",
            "--exec-root",
            f"{folder}/exec",
            "-H",
            self.host,
        ]
        command += ["--pidfile", f"{folder}/pid", "--bridge=none", "--iptables=false"]
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while self.docker("version").returncode != 0:
            assert self._process.poll() is None, f"the engine ended:\n{(folder / 'log').read_text()[-2000:]}"
            assert time.monotonic() < end, "the engine did not answer"
            time.sleep(0.1)

    def stop(self) -> None:
        """End it; its containers die with it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def load(self, image: str) -> None:
        """Bring an image over from the machine's own engine, under the same name."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as save:
            done = subprocess.run(["docker", "-H", self.host, "load"], stdin=save.stdout, capture_output=True, check=False)
        assert (save.returncode, done.returncode) == (0, 0), done.stderr

    def docker(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command of the docker client against it."""
        return subprocess.run(["docker", "-H", self.host, *arguments], capture_output=True, text=True, check=False)


@contextmanager
def own_engine() -> Iterator[OwnEngine]:
    """A started engine."""
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    engine = OwnEngine(folder)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)
