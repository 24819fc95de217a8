"""Everything runner needs on this machine, in order: environment, engine, mmdebstrap, sandbox image; more for its tests.

Owns the order and the question before an engine is installed. Idempotent: what is there and current is left alone.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scripts import engine, machine
from scripts.progress import SetupError, done, run, say, step

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".setup"
VENV = ROOT / ".venv"
TEST_TOOLS = ("tmux", "faketime", "expect", "iproute2", "postgresql", "runsc")
NEEDS = 3 * 1024**3  #: bytes of disk for all of it, caches and temporary files included

ANNOUNCEMENT = """\
      No Docker Engine answers at {where} ({detail}).
      Set-up will install, from this machine's Debian packages:
        docker.io with containerd, runc and iptables   about 260 MB; it stays installed and running
        mmdebstrap                                     about   1 MB (25 MB with what it needs)
      and make, besides:
        .venv in this folder                           about 650 MB
        the sandbox image in the engine                about 600 MB, built here, nothing pulled
      In all about 3 GB of disk, caches and temporary files included; {free:.0f} GB are free."""


def main(arguments: list[str]) -> int:
    """Set up; 0 when all is ready, 1 with a sentence and a hint when it is not."""
    parser = argparse.ArgumentParser(prog="scripts/setup.sh", description="Prepare this machine and this clone for runner.")
    parser.add_argument("--yes", action="store_true", help="answer yes before an engine is installed (also: YES=1, CI=1)")
    parser.add_argument("--only-venv", action="store_true", help="the virtual environment and nothing else")
    parser.add_argument(
        "--for-tests",
        action="store_true",
        help="what the tests need besides: Compose, tmux, faketime, expect, ip, PostgreSQL, gVisor",
    )
    options = parser.parse_args(arguments)
    yes = options.yes or machine.is_true(os.environ.get("YES")) or machine.is_true(os.environ.get("CI"))
    try:
        with _alone():
            if options.only_venv:
                prepare_venv(1, 1)
            else:
                _everything(yes=yes, for_tests=options.for_tests)
    except SetupError as error:
        say(f"set-up: {error.what}\nhint: {error.hint}")
        return 1
    return 0


def _everything(*, yes: bool, for_tests: bool) -> None:
    total = 6 if for_tests else 4
    answer = engine.ping(engine.address(os.environ))
    installs = not answer.alive and _must_install(answer)
    if installs:
        _ask(answer, yes=yes)
    prepare_venv(1, total)
    step(2, total, "Docker Engine")
    if not answer.alive:
        began = time.monotonic()
        if installs:
            machine.install(["docker.io"], logs=LOGS)
        answer = engine.start()
        done("started", since=began)
    done(f"answers at {answer.where}, {answer.detail}")
    _prepare_mmdebstrap(3, total)
    _build_image(4, total)
    if for_tests:
        _prepare_compose(5, total)
        _prepare_test_tools(6, total)


def _must_install(answer: engine.Answer) -> bool:
    """Whether docker.io has to be installed (False: it only has to be started).

    Raises:
        SetupError: This process cannot bring an engine up; the hint says what a person can do.
    """
    if answer.refused:
        raise SetupError(
            f"cannot use the Docker Engine at {answer.where}: {answer.detail}",
            hint="run as root, or: sudo usermod -aG docker $USER    then log in again",
        )
    if answer.where != engine.DEFAULT:
        raise SetupError(
            f"no Docker Engine answers at {answer.where}: {answer.detail}",
            hint="DOCKER_HOST says to look there: start that engine, or unset DOCKER_HOST to have one set up",
        )
    installed = shutil.which("dockerd") is not None
    if os.geteuid() != 0 or not (installed or machine.can_install()):
        start = "sudo systemctl start docker" if installed else "sudo apt-get install -y --no-install-recommends docker.io"
        raise SetupError(
            f"no Docker Engine answers at {answer.where}, and bringing one up needs root on Debian or Ubuntu",
            hint=f"run: {start} && sudo usermod -aG docker $USER    then log in again; on another system install Docker Engine",
        )
    return not installed


def _ask(answer: engine.Answer, *, yes: bool) -> None:
    """Say what will be installed; on a terminal, wait for a yes.

    Raises:
        SetupError: The disk is too small, or the person said no.
    """
    free = shutil.disk_usage(ROOT).free
    say(ANNOUNCEMENT.format(where=answer.where, detail=answer.detail, free=free / 1e9))
    if free < NEEDS:
        raise SetupError("cannot install: less than 3 GB of disk are free", hint=f"make room on the disk that holds {ROOT}")
    if yes or not sys.stdin.isatty():
        say("      Going on: " + ("answered beforehand." if yes else "no terminal to ask on."))
        return
    sys.stderr.write("      Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise SetupError(
            "no engine was installed", hint="answer y, or start a Docker Engine yourself and run the same command again"
        )


def prepare_venv(number: int, total: int) -> None:
    """Make or bring up to date `.venv` with this clone and its development tools in it."""
    step(number, total, f"Python environment in {VENV.name}")
    stamp = VENV / "runner-setup.stamp"
    wanted = fingerprint((ROOT / "pyproject.toml").read_bytes())
    if _venv_works() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        done("up to date")
        return
    began = time.monotonic()
    if not _venv_works():
        run([sys.executable, "-m", "venv", "--clear", str(VENV)], log=LOGS / "venv.log", what="making the environment")
    run(
        [str(VENV / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check", "-e", ".[dev]"],
        log=LOGS / "pip.log",
        what="installing Python packages",
    )
    stamp.write_text(wanted, encoding="utf-8")
    done("ready", since=began)


def fingerprint(project: bytes) -> str:
    """What an environment was made for: the declared packages, the Python and the place (scripts in it hold its path)."""
    return hashlib.sha256(b"\0".join([project, sys.version.encode(), str(ROOT).encode()])).hexdigest()


def _venv_works() -> bool:
    """Whether `.venv` holds a Python that runs, is recent enough and stands where it was made (a moved clone does not)."""
    python = VENV / "bin/python"
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    pip = VENV / "bin/pip"
    if not python.exists() or not pip.exists() or str(VENV) not in pip.read_text(encoding="utf-8", errors="replace")[:512]:
        return False
    return subprocess.run([str(python), "-c", code], check=False, capture_output=True).returncode == 0


def _prepare_mmdebstrap(number: int, total: int) -> None:
    step(number, total, "mmdebstrap, which makes the image's base")
    if shutil.which("mmdebstrap"):
        done("installed")
    elif machine.can_install():
        began = time.monotonic()
        machine.install(["mmdebstrap"], logs=LOGS)
        done("installed", since=began)
    else:
        done("missing; needed only to build the image: sudo apt-get install -y --no-install-recommends mmdebstrap")


def _prepare_compose(number: int, total: int) -> None:
    step(number, total, "Docker Compose, for the tests of the model's upstreams")
    if found := machine.compose():
        done(found)
    elif machine.can_install():
        began = time.monotonic()
        machine.install(["docker-compose"], logs=LOGS)
        done("installed", since=began)
    else:
        done("missing; those tests fail without it: sudo apt-get install -y --no-install-recommends docker-compose")


def _prepare_test_tools(number: int, total: int) -> None:
    step(
        number,
        total,
        "what tests drive: tmux and expect (real terminals), faketime (a clock that steps), ip, PostgreSQL, gVisor",
    )
    if all(machine.has_tool(tool) for tool in TEST_TOOLS):
        done("installed")
    elif machine.can_install():
        began = time.monotonic()
        machine.install([*TEST_TOOLS], logs=LOGS)
        done("installed", since=began)
    else:
        done(f"missing; those tests fail without them: sudo apt-get install -y --no-install-recommends {' '.join(TEST_TOOLS)}")


def _build_image(number: int, total: int) -> None:
    step(number, total, "sandbox image")
    code = subprocess.run([str(VENV / "bin/runner"), "image", "build"], check=False, cwd=ROOT).returncode
    if code:
        raise SetupError(f"`runner image build` ended with code {code}", hint="its own message above says why")


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Two set-ups of one clone take turns."""
    LOGS.mkdir(exist_ok=True)
    with (LOGS / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("      another set-up of this clone runs; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
