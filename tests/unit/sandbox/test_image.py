"""What the image's digest covers, and what building says when it cannot (issue 2, item 3)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runner.errors import SandboxError
from runner.sandbox import image as image_module
from runner.sandbox.base import base_image, base_recipe
from runner.sandbox.image import cli_version, content_digest, follow, image_content


@pytest.fixture
def cli(tmp_path: Path) -> Path:
    (tmp_path / "claude").write_bytes(b"binary")
    (tmp_path / "claude.version").write_text("2.1.332 (Claude Code)\n")
    return tmp_path / "claude"


def test_the_tag_is_the_digests_first_half_dozen_bytes(cli):
    content = image_content(base=None, cli=cli)
    assert content.tag == f"runner-sandbox:{content.digest[7:19]}"
    assert content.cli_version == "2.1.332"
    assert content.base == base_recipe().tag


def test_the_digest_covers_the_cli_its_version_and_the_base(cli):
    base = content_digest(base=None, cli=cli)
    assert content_digest(base=None, cli=cli) == base
    others = {content_digest(base="debian:bookworm-slim", cli=cli)}
    cli.write_bytes(b"another")
    others.add(content_digest(base=None, cli=cli))
    cli.write_bytes(b"binary")
    cli.with_name("claude.version").write_text("2.1.333")
    others.add(content_digest(base=None, cli=cli))
    assert len({base, *others}) == 4


@pytest.mark.parametrize("name", ["Dockerfile.sandbox", "prepare.sh", "probe.sh"])
def test_the_digest_covers_every_file_that_goes_in(cli, tmp_path, monkeypatch, name):
    before = content_digest(base="x", cli=cli)
    folder = tmp_path / "sandbox"
    folder.mkdir()
    inside = [
        path for path in image_module.sandbox_dir().iterdir() if path.is_file()
    ]  # what is tried from inside is no part of it
    for path in (image_module.dockerfile(), *inside):
        text = path.read_text() + ("# changed\n" if path.name == name else "")
        (folder / path.name).write_text(text)
    monkeypatch.setattr(image_module, "sandbox_dir", lambda: folder)
    monkeypatch.setattr(image_module, "dockerfile", lambda: folder / "Dockerfile.sandbox")
    assert content_digest(base="x", cli=cli) != before


def test_a_missing_cli_is_an_error_with_a_hint(tmp_path):
    with pytest.raises(SandboxError) as caught:
        content_digest(base=None, cli=tmp_path / "absent")
    assert caught.value.resolution is not None


def test_a_cli_without_a_version_beside_it_is_unknown(tmp_path):
    assert cli_version(tmp_path / "claude") == "unknown"
    (tmp_path / "claude.version").write_text("\n")
    assert cli_version(tmp_path / "claude") == "unknown"


def test_without_mmdebstrap_the_hint_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    class Bare:
        async def image(self, reference: str) -> None:
            return None

    with pytest.raises(SandboxError) as caught:
        asyncio.run(base_image(Bare(), progress=lambda _: None))  # type: ignore[arg-type]
    assert "apt-get install -y mmdebstrap" in str(caught.value.resolution)


def test_a_failing_mmdebstrap_is_told_with_its_last_words(monkeypatch, tmp_path):
    tool = tmp_path / "mmdebstrap"
    tool.write_text("#!/bin/sh\necho 'I: working' >&2\necho 'E: no mirror' >&2\nexit 25\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    class Bare:
        async def image(self, reference: str) -> None:
            return None

    said: list[str] = []
    with pytest.raises(SandboxError) as caught:
        asyncio.run(base_image(Bare(), progress=said.append))  # type: ignore[arg-type]
    assert caught.value.details == "I: working\nE: no mirror"
    assert said[-1] == "working"


def test_a_build_step_that_fails_is_told_with_what_it_said():
    answers = [{"stream": "Step 1/2 : FROM x\n"}, {"stream": "oops\n"}, {"aux": {}}, {"error": "exit 1"}]
    said: list[str] = []
    with pytest.raises(SandboxError) as caught:
        follow(answers, what="build the sandbox image", progress=said.append)
    assert said == ["Step 1/2 : FROM x"]
    assert caught.value.details == "Step 1/2 : FROM x\noops\nexit 1"
