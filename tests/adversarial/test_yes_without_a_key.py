"""Programs that play a person: none gets a yes past the approver's key (W2), and an agent's shell is known by its marks (W3).

The key is where its owner keeps it, readable to every program of the same uid, and sealed with a passphrase.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.api.admission import Admission
from runner.api.credential import Credentials
from runner.api.markers import MARKERS
from runner.api.tripwire import signs
from runner.captures import ed25519
from runner.cli.decide import ARM_DELAY
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService, served
from tests.helpers.terminal import Terminal

PASSPHRASE = "the owner knows it"
RUNNER = f"{sys.executable} -m runner"
OFF = f"{RUNNER} approve {APPROVAL} --yes --digest {DIGEST}"
ON = f"{RUNNER} approve {APPROVAL}"
SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
EXPECT = f'set timeout 50; spawn {ON}; expect "N]"; sleep 1; send "y\\r"; expect "key:"; send "guess\\r"; expect eof; exit 7'


def typist(said: str) -> str:
    """Shell that types a yes, until it counts, and a guess at the passphrase, each after its question is in the file `said`."""
    return f"""(
        until grep -qs "N]" {said}; do sleep 0.1; done
        until grep -qs "key:" {said}; do sleep 1; echo y; done
        sleep 1; echo guess
    )"""


WAYS: Mapping[str, str] = {
    "script": f"{typist('$HOME/one')} | script -qefc '{ON}' $HOME/one",
    "script with a digest": f"(sleep 3; echo y; echo guess) | script -qec '{OFF}' /dev/null",
    "pty.spawn": f"{typist('$HOME/two')} | {sys.executable} -c '{SPAWN}' {ON} | tee $HOME/two",
    "expect": f"expect -c '{EXPECT}'",
    "setsid": f"setsid -w {OFF} </dev/null",
    "env -i": f'env -i PATH="$PATH" HOME="$HOME" RUNNER_STATE_DIR="$RUNNER_STATE_DIR" {OFF} </dev/null',
    "cron": f"cd / && {OFF} </dev/null 2>&1",
    "ssh -T": f"printf 'y\\nguess\\n' | {OFF}",
    "a guess by descriptor": f"{OFF} --passphrase-fd 0 <<<guess",
    "another key": f"{OFF} --key $HOME/mallory.key",
    "no key": f"RUNNER_APPROVER_KEY=$HOME/nowhere {OFF}",
}


@dataclass
class Stage:
    """A supervisor that wants a signature, and a person's home."""

    service: FakeService
    home: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    key = ed25519.make()
    folder = home / ".config" / "runner"
    folder.mkdir(parents=True)
    for path, data in (
        (folder / "approver.key", key.sealed(PASSPHRASE.encode())),
        (home / "mallory.key", ed25519.make().sealed(None)),
    ):
        path.touch(mode=0o600)
        path.write_bytes(data)
    service = FakeService()
    credentials = Credentials({"anna": key.public}, clock=time.time, nonces=lambda: secrets.token_hex(16))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RUNNER_", "XDG_", *MARKERS))}
    with served(service, home / "state", admission=Admission(credentials=credentials, signs=None)):
        yield Stage(
            service, home, kept | {"HOME": str(home), "RUNNER_STATE_DIR": str(home / "state"), "TERM": "xterm", "LINES": "200"}
        )


@pytest.fixture(scope="module")
def tried(stage: Stage) -> Mapping[str, tuple[int, str]]:
    """What every way that this machine knows came to; all at once, since each mostly waits."""
    processes = {
        way: subprocess.Popen(
            ["bash", "-c", f"set -o pipefail; {line}"],
            env=stage.environment,
            cwd=Path.cwd(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for way, line in WAYS.items()
    }
    return {way: (process.wait(60), (process.communicate()[0])) for way, process in processes.items()}


@pytest.mark.parametrize("way", WAYS)
def test_no_program_that_plays_a_person_releases_anything(way: str, tried: Mapping[str, tuple[int, str]], stage: Stage) -> None:
    """W2, K2."""
    code, said = tried[way]
    assert code == 7, said
    assert way not in {"script", "pty.spawn", "expect"} or "passphrase" in said  # else it never came so far
    assert "approved" not in said
    assert stage.service.decisions == []


def test_whoever_knows_the_passphrase_may(stage: Stage, tried: object) -> None:
    """The control: at a terminal, asked after the card; the passphrase is not on the screen. And off one, by descriptor."""
    with Terminal("approve", APPROVAL, environment=stage.environment) as screen:
        screen.wait_for("[y/N]")
        time.sleep(ARM_DELAY + 0.2)
        screen.press(b"y\n", until="passphrase of the approver's key:")
        screen.type(PASSPHRASE.encode() + b"\n")
        assert screen.end() == 0
        assert "approved Write" in screen.text
        assert PASSPHRASE not in screen.text
    stage.service.approval_row["state"] = "pending"
    line = f"{OFF} --passphrase-fd 3 3<<<'{PASSPHRASE}'"
    done = subprocess.run(["bash", "-c", line], env=stage.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "approved Write" in done.stdout) == (0, True), done.stderr
    assert stage.service.decisions == ["approve", "approve"]
    shown = [facts for name, facts in stage.service.asked if name == "shown"]
    assert shown
    who = stage.service.asked[-1][1][2]  # type: ignore[index]
    assert (who.name, who.method) == ("anna", "key")


def test_an_agents_marks_are_found_in_the_process_and_above_it() -> None:
    """W3: a clean environment does not hide what started it."""
    clean = {name: value for name, value in os.environ.items() if name not in MARKERS}
    marked = clean | {"CLAUDECODE": "1"}
    line = "env -i sleep 30 & echo $!; wait"
    for environment, name, sign in ((marked, "sh", "CLAUDECODE"), (clean, "claude", "the program claude")):
        with subprocess.Popen(
            [name, "-c", line], executable="/bin/sh", env=environment, stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            assert sign in signs(child)
            os.kill(child, 15)
