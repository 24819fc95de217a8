"""What `get` does with files of somebody else: plain names, nothing written over, no link followed, whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.api.collecting import Collector, Offer, OfferedFile
from runner.cli import saving
from runner.cli.fetching import fetch_shares
from runner.cli.saving import Folder
from runner.errors import RunnerError, UsageError
from runner.render import Screen

SHARE = "s_0123456789abcdef"
DATA = b"what they sent\n"
DIGEST = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


class OtherSide:
    """Answers what it likes."""

    def __init__(self, *names: str, data: bytes = DATA, size: int = len(DATA), digest: str = DIGEST) -> None:
        files = [{"n": n, "name": name, "size": size, "digest": digest} for n, name in enumerate(names, 1)]
        self.answer: Any = {"share": SHARE, "note": "\x1b[2Jnote", "expires": 9e9, "files": files}
        self.data, self.asked = data, 0

    def read(self, path: str) -> Any:
        return self.answer if path.endswith(SHARE) else {"shares": [self.answer]}

    def read_bytes(self, path: str) -> bytes:
        self.asked += 1
        return self.data


def fetch(side: Any, out: Path | None) -> None:
    fetch_shares(Screen(), side, SHARE, out=out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "in"


@pytest.mark.parametrize(
    ("name", "stands"),
    [
        ("../../outside", "_._.._outside"),
        ("/etc/passwd", "_etc_passwd"),
        (".bashrc", "_bashrc"),
        ("-rf", "_rf"),
        ("..", "file"),
        ("", "file"),
        ("\x1b]0;x\x07y", "_]0;x_y"),
        ("gpj.\u202eexe", "gpj._exe"),
        ("NUL.txt", "_NUL.txt"),
        ("C:\\x", "C__x"),
    ],
)
def test_whatever_they_call_a_file_it_stands_in_the_folder_under_a_plain_name(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, stands: str
) -> None:
    fetch(OtherSide(name), folder)
    assert [path.name for path in folder.iterdir()] == [stands]
    assert (folder / stands).read_bytes() == DATA
    assert list(folder.parent.iterdir()) == [folder]
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\u202e" not in said.out + said.err


def test_nothing_that_is_there_is_written_over_and_nothing_else_is_fetched(folder: Path, tmp_path: Path) -> None:
    """A file, a link, a link that leads nowhere, a folder: each is left as it is, before a byte is asked for."""
    folder.mkdir()
    aim = tmp_path / "aim"
    (folder / "a").write_text("mine")
    (folder / "b").symlink_to(aim)
    (folder / "c").symlink_to(tmp_path / "nowhere")
    (folder / "d").mkdir()
    os.mkfifo(folder / "e")
    aim.write_bytes(DATA)
    for name in "abcde":
        side = OtherSide("new", name)
        with pytest.raises(UsageError, match="something is there already"):
            fetch(side, folder)
        assert side.asked == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "c", "d", "e"]
    assert ((folder / "a").read_text(), (tmp_path / "nowhere").exists()) == ("mine", False)


def test_two_files_that_would_have_one_name_here_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="one name here"):
        fetch(OtherSide("a/b", "A_b"), folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("side", "says"),
    [
        (OtherSide("x", data=DATA[:-1] + b"!"), "are not those that were shared"),
        (OtherSide("x", data=DATA + b"more"), "sent 19 bytes where 15 belong"),
        (OtherSide("x", data=b""), "sent 0 bytes where 15 belong"),
    ],
)
def test_bytes_that_are_not_those_of_the_digest_leave_nothing(folder: Path, side: OtherSide, says: str) -> None:
    with pytest.raises(RunnerError, match=says):
        fetch(side, folder)
    assert list(folder.iterdir()) == []


def test_an_empty_file_arrives_as_one(folder: Path) -> None:
    side = OtherSide("x", data=b"", size=0, digest=f"sha256:{hashlib.sha256(b'').hexdigest()}")
    fetch(side, folder)
    assert (side.asked, (folder / "x").read_bytes()) == (1, b"")


@pytest.mark.parametrize(
    "change",
    [
        {"files": []},
        {"files": [{"n": 1, "name": "x", "size": 1, "digest": DIGEST}] * 17},
        {"files": [{"n": True, "name": "x", "size": 1, "digest": DIGEST}]},
        {"files": [{"n": 1, "name": "x", "size": 9 * 1024 * 1024, "digest": DIGEST}]},
        {"files": [{"n": 1, "name": "x", "size": -1, "digest": DIGEST}]},
        {"files": [{"n": 1, "name": "x", "size": 1, "digest": "sha256:1"}]},
        {"files": [{"n": 1, "name": None, "size": 1, "digest": DIGEST}]},
        {"files": ["x"]},
        {"files": "x"},
        {"share": "s_../../etc/passwd"},
        {"note": "x" * 5000},
        {"expires": "soon"},
    ],
)
def test_what_is_no_share_is_not_followed(folder: Path, change: dict[str, Any]) -> None:
    side = OtherSide("x")
    side.answer = side.answer | change
    for out in (folder, None):
        with pytest.raises(RunnerError, match="it is no share"):
            fetch(side, out)
    with pytest.raises(RunnerError, match="it is no share"):
        Collector(side).offers()  # type: ignore[arg-type]
    side.answer = []
    with pytest.raises(RunnerError, match="it is no share"):
        fetch(side, folder)
    assert side.asked == 0


def test_a_folder_that_is_a_link_or_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("x")
    for name, says in (
        ("link", "it is a link"),
        ("file", "Not a directory"),
        ("no/where", "No such file"),
        ("n\0ul", "no path"),
    ):
        with pytest.raises(UsageError, match=says):
            fetch(OtherSide("x"), tmp_path / name)
    assert list((tmp_path / "real").iterdir()) == []


def test_a_name_taken_or_a_link_planted_meanwhile_wins_and_loses_nothing(folder: Path, tmp_path: Path) -> None:
    """Between the look and the write somebody else may put something there: it stays, and no link is written through."""
    (tmp_path / "aim").write_text("theirs")

    def pieces() -> Iterator[bytes]:
        (folder / "x").symlink_to(tmp_path / "aim")
        yield DATA

    with Folder(folder) as one, pytest.raises(UsageError, match="something is there already"):
        one.put("x", pieces(), digest=DIGEST)
    assert ([path.name for path in folder.iterdir()], (tmp_path / "aim").read_text()) == (["x"], "theirs")


def test_a_folder_swapped_for_a_link_meanwhile_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()

    def pieces() -> Iterator[bytes]:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "elsewhere")
        yield DATA

    with Folder(folder) as one:
        one.put("x", pieces(), digest=DIGEST)
    assert (list((tmp_path / "elsewhere").iterdir()), (tmp_path / "moved/x").read_bytes()) == ([], DATA)


def test_where_there_are_no_hard_links_a_name_is_taken_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(saving.os, "link", without)
    with Folder(folder) as one:
        one.put("x", [DATA], digest=DIGEST)
        with pytest.raises(UsageError, match="something is there already"):
            one.put("x", [DATA], digest=DIGEST)
        assert one.has("x", size=len(DATA), digest=DIGEST)
    assert [path.name for path in folder.iterdir()] == ["x"]


@pytest.mark.parametrize("nameless", [True, False])
def test_a_file_that_is_not_whole_has_no_name(nameless: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a command that is killed leaves nothing; where files always have a name, it is one that goes when it breaks off."""
    if not nameless:
        monkeypatch.setattr(saving.os, "O_TMPFILE", os.O_DIRECTORY | os.O_RDWR)
    seen: list[str] = []

    def pieces() -> Iterator[bytes]:
        yield DATA[:3]
        seen.extend(path.name for path in folder.iterdir())
        yield DATA[3:]
        if len(seen) > 5:
            raise KeyboardInterrupt

    with Folder(folder) as one:
        one.put("x", pieces(), digest=DIGEST)
        assert all(name.startswith(".runner-") for name in seen)
        assert (len(seen) == 0) is nameless
        seen.extend("......")
        with pytest.raises(KeyboardInterrupt):
            one.put("y", pieces(), digest=DIGEST)
    assert [path.name for path in folder.iterdir()] == ["x"]
    assert ((folder / "x").read_bytes(), (folder / "x").stat().st_nlink) == (DATA, 1)


def test_a_share_is_asked_for_by_its_whole_id() -> None:
    with pytest.raises(UsageError, match="give the whole id"):
        Collector(OtherSide("x")).offer("s_0123")  # type: ignore[arg-type]
    assert Offer(share=SHARE, note="", expires=1.0, files=(OfferedFile(n=1, name="x", size=1, digest=DIGEST),))
