"""approve --edit and show --edit: the edited call is shown, and only its digest releases it (D2, W2, K1, K2)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fake_queue import EDITED_DIGEST
from tests.helpers.fake_service import APPROVAL, CAPTURE, DIGEST, FakeService
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]
EDITED = '{"file_path": "/workspace/summary.md", "content": "# Better\\n"}'


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "edited.json"
    path.write_text(EDITED)
    return str(path)


def test_an_edit_off_a_terminal_needs_the_digest_of_the_edited_call(file: str, run: Run, service: FakeService) -> None:
    for arguments in (("--yes",), ("--digest", EDITED_DIGEST), ()):
        assert run("approve", APPROVAL, "--edit", file, *arguments).code == 2
    assert run("approve", APPROVAL, "--edit", file, "--yes", "--digest", DIGEST).code == 6
    assert service.decisions == []
    ran = run("approve", APPROVAL, "--edit", file, "--yes", "--digest", EDITED_DIGEST, "--reason", "shorter")
    assert (ran.code, ran.out.splitlines()[1]) == (0, f"  digest   {EDITED_DIGEST}")
    name, found = service.asked[-1]
    assert (name, found[:3]) == ("approve edited", (EDITED, EDITED_DIGEST, "shorter"))  # type: ignore[index]


def test_the_edited_digest_is_shown_with_the_difference_and_nothing_is_decided(
    file: str, run: Run, service: FakeService
) -> None:
    ran = run("show", APPROVAL, "--edit", file)
    assert ran.code == 0
    for line in (
        "  edited   by uid 0: this is what they made of it, not what was proposed",
        "from what was proposed to what would be carried out",
        "│ -# Summary",
        "│ +# Better",
        f"  digest   {EDITED_DIGEST}",
    ):
        assert line in ran.out.splitlines()
    found = json.loads(run("show", APPROVAL, "--edit", file, "--json").out)
    assert (found["digest"], found["proposed"]["input"]["content"]) == (EDITED_DIGEST, "# Summary\n")
    assert service.decisions == []


def test_an_edit_is_read_from_standard_input_too(run: Run, service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(EDITED.encode())))
    assert run("approve", APPROVAL, "--edit", "-", "--yes", "--digest", EDITED_DIGEST).code == 0
    assert service.asked[-1][1][0] == EDITED  # type: ignore[index]


@pytest.mark.parametrize(
    "arguments",
    [
        ("approve", f"{APPROVAL}={DIGEST}", f"{APPROVAL}={DIGEST}", "--yes"),
        ("approve", "--all-shown", "s_1", "--yes"),
        ("approve", f"{APPROVAL}={DIGEST}", "--yes", "--always"),
        ("approve", f"{APPROVAL}={DIGEST}", "--yes", "--ask"),
        ("show", CAPTURE),
    ],
)
def test_no_edit_goes_with_several_calls_a_list_or_a_saved_verdict(
    arguments: tuple[str, ...], file: str, run: Run, service: FakeService
) -> None:
    """D4: no edits in bulk."""
    assert run(*arguments, "--edit", file).code == 2
    assert service.decisions == []


def test_a_file_that_cannot_be_read_or_is_no_text_is_bad_input(tmp_path: Path, run: Run, service: FakeService) -> None:
    (tmp_path / "latin").write_bytes(b'{"content": "\xe9"}')
    (tmp_path / "large").write_bytes(b" " * (512 * 1024 + 1))
    for name in ("latin", "large", "absent"):
        ran = run("approve", APPROVAL, "--edit", str(tmp_path / name), "--yes", "--digest", EDITED_DIGEST)
        assert (ran.code, "cannot" in ran.err) == (2, True)
    assert service.decisions == []
