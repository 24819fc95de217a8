"""An installed runner works without a checkout: the wheel carries what the image is built from."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.architecture.tree import ROOT

CARRIED = {"sandbox": "runner/_data/sandbox", "profiles": "runner/_data/profiles"}


def test_the_wheel_carries_sandbox_profiles_and_dockerfile(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {entry: archive.read(entry) for entry in archive.namelist()}
    tracked = subprocess.run(["git", "ls-files", *CARRIED, "runner"], cwd=ROOT, capture_output=True, text=True, check=True)
    expected = {"runner/_data/Dockerfile.sandbox": ROOT / "Dockerfile.sandbox"}
    for file in tracked.stdout.splitlines():
        top, _, rest = file.partition("/")
        expected[f"{CARRIED.get(top, top)}/{rest}"] = ROOT / file
    assert {entry: inside.get(entry) for entry in expected} == {entry: path.read_bytes() for entry, path in expected.items()}


def test_the_wheel_installs_the_command() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'runner = "runner.__main__:main"' in text
    assert (ROOT / "runner/__main__.py").exists()
