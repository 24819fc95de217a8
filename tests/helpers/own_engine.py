"""A Docker Engine of a test's own: empty, without a network, ended with the test."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_engine() -> Iterator[str]:
    """Start one; gives its `DOCKER_HOST`."""
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    host = f"unix://{folder}/docker.sock"
    command = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-H", host]
    command += ["--pidfile", f"{folder}/pid", "--bridge=none", "--iptables=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        _wait(process, folder / "docker.sock", folder / "log")
        yield host
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if process.poll() is not None:
            raise AssertionError(f"the engine ended:\n{log.read_text()[-2000:]}")
        done = subprocess.run(["docker", "-H", f"unix://{socket}", "version"], capture_output=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError("the engine did not answer")
