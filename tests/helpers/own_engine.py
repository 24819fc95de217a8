"""A Docker Engine of a test's own: without a network, restartable, ended with the test."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: gVisor's runtime as docs/hardening.md says to set it up; `loose` lacks what puts our list of calls in force.
GVISOR = {
    "runsc": {"path": "runsc", "runtimeArgs": ["--platform=ptrace", "--network=none", "--oci-seccomp", "--fsgofer-host-uds"]},
    "runsc-loose": {"path": "runsc", "runtimeArgs": ["--platform=ptrace", "--network=none", "--fsgofer-host-uds"]},
    "runsc-false": {"path": "runc"},
}
#: An account of every system; a range of uids is given to it for this engine alone.
_REMAPPED = "daemon"
_FIRST, _COUNT = 200_000, 65_536
#: Programs that the start-up probe uses, and one that stays.
_PROGRAMS = "sh tr cut stat readlink mkfifo rm cat mkdir cp"
_COLLECT = f"""
for name in {_PROGRAMS}; do command -v $name; ldd "$(command -v $name)" | grep -o '/[^ ]*'; done | sort -u |
    tar --create --dereference --absolute-names --files-from=- /bin/sh /usr/local/lib/runner
"""


class OwnEngine:
    """One dockerd with folders of its own."""

    def __init__(self, folder: Path, settings: dict[str, Any], *, remapped: bool) -> None:
        self._folder = folder
        self._remapped = remapped
        (folder / "daemon.json").write_text(json.dumps(settings))
        self.process: subprocess.Popen[bytes] | None = None
        self.host = f"unix://{folder}/docker.sock"

    def start(self) -> None:
        """Start it and wait until it answers."""
        folder = self._folder
        # In a network of its own: told to have no bridge, an engine removes the bridge of the machine's other engine too.
        command = ["unshare", "--net"]
        if self._remapped:  # with files of its own that give uids away: the machine's are left alone
            for name in ("subuid", "subgid"):
                (folder / name).write_text(f"{_REMAPPED}:{_FIRST}:{_COUNT}\n")
            files = "".join(
                f"touch /etc/{name} && mount --bind {folder}/{name} /etc/{name} && " for name in ("subuid", "subgid")
            )
            command += ["--mount", "sh", "-c", f'{files} exec "$@"', "sh"]
        command += ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-H", self.host]
        command += ["--pidfile", f"{folder}/pid", "--bridge=none", "--iptables=false", "--config-file", f"{folder}/daemon.json"]
        command += ["--userns-remap", _REMAPPED] if self._remapped else []
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while self.docker("version").returncode != 0:
            assert self.process.poll() is None, f"the engine ended:\n{(folder / 'log').read_text()[-2000:]}"
            assert time.monotonic() < end, "the engine did not answer"
            time.sleep(0.1)

    def stop(self) -> None:
        """End it; its containers die with it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)
            self.process = None
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            if (mounted := line.split()[1]).startswith(f"{self._folder}/"):
                subprocess.run(["umount", "--lazy", mounted], check=False)

    def load(self, image: str) -> None:
        """Bring an image over from the machine's own engine, under the same name."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as save:
            done = subprocess.run(["docker", "-H", self.host, "load"], stdin=save.stdout, capture_output=True, check=False)
        assert (save.returncode, done.returncode) == (0, 0), done.stderr

    def load_small(self, image: str) -> str:
        """Bring over the start-up probe of an image and what it runs, some MB instead of hundreds; the new image's id."""
        collect = ["docker", "run", "--rm", "--network=none", "--user=0", "--entrypoint=sh", image, "-c", _COLLECT]
        with subprocess.Popen(collect, stdout=subprocess.PIPE) as files:
            made = ["docker", "-H", self.host, "import", "-", "small:latest"]
            done = subprocess.run(made, stdin=files.stdout, capture_output=True, text=True, check=False)
        assert (files.returncode, done.returncode) == (0, 0), done.stderr
        return done.stdout.strip()

    def docker(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """One command of the docker client against it."""
        command = ["docker", "-H", self.host, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


@contextmanager
def own_engine(*, remapped: bool = False, **settings: Any) -> Iterator[OwnEngine]:
    """A started engine; `remapped`: with user namespaces, `settings`: of its daemon.json."""
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    folder.chmod(0o711)  # whoever root is in a container has to get to the container's files
    engine = OwnEngine(folder, settings, remapped=remapped)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)
