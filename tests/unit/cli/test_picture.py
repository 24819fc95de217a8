"""picture: what the model is given, saved for a person (cli.md, I1)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

from tests.helpers import pictures
from tests.helpers.fake_service import FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
DATA = pictures.png()


def given(service: FakeService, *names: str) -> None:
    encoded = base64.b64encode(DATA).decode()
    service.captures.images = [{"name": name, "media_type": "image/png", "data": encoded} for name in names]


def test_a_picture_is_saved_byte_for_byte_and_never_called_safe(run: Run, service: FakeService, tmp_path: Path) -> None:
    """I1, R2."""
    given(service, "a.png", "b\x1b[2J.png")
    ran = run("picture", "c_0123456789abcdef", "2", "--out", str(tmp_path / "x.png"))
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "x.png").read_bytes() == DATA
    assert (tmp_path / "x.png").stat().st_mode & 0o777 == 0o600
    assert "16 by 8 pixels" in ran.out
    assert "\x1b" not in ran.out
    assert "safe" not in ran.out


def test_a_file_that_is_there_is_left_alone(run: Run, service: FakeService, tmp_path: Path) -> None:
    given(service, "a.png")
    (tmp_path / "x.png").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("x.png", "link"):
        assert run("picture", "c_0123456789abcdef", "--out", str(tmp_path / name)).code == 2
    assert (tmp_path / "x.png").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_picture_that_is_not_there_is_not_found(run: Run, service: FakeService, tmp_path: Path) -> None:
    given(service, "a.png")
    for number in ("0", "2"):
        ran = run("picture", "c_0123456789abcdef", number, "--out", str(tmp_path / "x.png"))
        assert (ran.code, ran.out) == (3, "")
    assert not (tmp_path / "x.png").exists()
