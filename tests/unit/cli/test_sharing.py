"""share, shares and get on the command line, through both sockets: the owner's side, the contact's side (R26-R28, R31)."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.captures import keyfile
from runner.captures.refusals import refused
from runner.cli import outgoing
from runner.store import audit, pausing
from runner.supervisor.handing import Handing
from tests.helpers.door import Door, a_door
from tests.helpers.fake_service import FakeService
from tests.helpers.stored import ANNA
from tests.helpers.terminal import Terminal
from tests.unit.cli.conftest import Ran

Run = Callable[..., Ran]


@pytest.fixture
def door(tmp_path: Path, service: FakeService) -> Iterator[Door]:
    """Somebody's supervisor, of which the fake one hands its shares out; maria's key is in a file."""
    with a_door(tmp_path, now=time.time()) as door:
        keyfile.write(tmp_path / "maria.key", door.meet())
        service.shares = door.shares
        yield door


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the owner works."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "report.txt").write_text("The figures are in the second column.\n")
    return folder


def get(run: Run, door: Door, tmp_path: Path, *words: str) -> Ran:
    """As maria."""
    return run("get", *words, "--to", door.origin, "--key", str(tmp_path / "maria.key"))


def events(door: Door) -> list[str]:
    with door.store.reading() as conn:
        return [row.event for row in audit.after(conn, 0, 1000) if row.event.startswith("share.")]


def test_what_is_shared_is_listed_fetched_and_taken_back(run: Run, door: Door, here: Path, tmp_path: Path) -> None:
    """R26-R28: a yes in so many words, the very bytes, a record that shows who has what."""
    done = run("share", "report.txt", "--to", "maria", "--note", "as promised", "--yes", "--json")
    assert done.code == 0, done.err
    share = done.json["id"]
    assert share in run("shares").out
    listed = get(run, door, tmp_path)
    assert (share in listed.out, "│ as promised" in listed.out) == (True, True)
    assert get(run, door, tmp_path, share, "--json").json["files"][0]["name"] == "report.txt"
    assert not (here / "in").exists()
    fetched = get(run, door, tmp_path, share, "--out", str(here / "in"))
    assert (fetched.code, "saved report.txt" in fetched.out) == (0, True), fetched.err
    assert (here / "in/report.txt").read_bytes() == (here / "report.txt").read_bytes()
    assert stat.S_IMODE((here / "in/report.txt").stat().st_mode) == 0o600
    assert "was there already report.txt" in get(run, door, tmp_path, share, "--out", str(here / "in")).out
    assert run("shares", "--state", "fetched", "--json").json["shares"][0]["files"][0]["fetches"] == 1
    taken = run("share", "withdraw", share, "--reason", "a mistake")
    assert (taken.code, "some of it was fetched before" in taken.err) == (0, True)
    assert get(run, door, tmp_path, share, "--out", str(here / "in")).code == 5
    assert run("share", "withdraw", share).code == 4
    assert (run("shares").out, share in run("shares", "--all").out) == ("nothing is shared\n", True)
    assert events(door) == ["share.offer", "share.fetch", "share.withdraw"]


def test_off_a_terminal_nothing_is_shared_without_an_explicit_yes(run: Run, door: Door, here: Path) -> None:
    """R27: usage, as for an approval; and where something was found, a yes has to say that it was seen."""
    assert [run("share", "report.txt", "--to", "maria", *more).code for more in ((), ("--json",), ("--digest", "x"))] == [2] * 3
    (here / "report.txt").write_text("the api key is sk-0123456789abcdef0123\n")
    refused = run("share", "report.txt", "--to", "maria", "--yes")
    assert (refused.code, "report.txt: it holds what looks like a secret" in refused.err) == (2, True)
    assert json.loads(run("share", "report.txt", "--to", "maria", "--yes", "--json").err)["error"]["code"] == "usage"
    seen = run("share", "report.txt", "--to", "maria", "--dry-run", "--json").json
    assert run("share", "report.txt", "--to", "maria", "--yes", "--digest", "sha256:" + "0" * 64).code == 6
    assert events(door) == []
    assert run("share", "report.txt", "--to", "maria", "--yes", "--digest", seen["digest"]).code == 0
    assert events(door) == ["share.offer"]


def test_a_dry_run_shows_what_would_leave_and_shares_nothing(run: Run, door: Door, here: Path) -> None:
    """R26: names, sizes, digests, kinds, hosts in ASCII, and what nobody can look into."""
    (here / "page.html").write_text('<img src="https://\u0435xample.org/x">')
    (here / "packed.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    out = run("share", "page.html", "packed.zip", "--to", "maria", "--for", "2d", "--dry-run").out
    for said in (
        "would leave: 2 files",
        "maria ⟨",
        "2 d",
        "page.html  34 B, text",
        "packed.zip  104 B, ZIP archive or office document",
        "what is in it cannot be read here",
        "leads to xn--xample-2of.org (html, fetched by whatever shows it)",
        "sha256:",
    ):
        assert said in out
    assert events(door) == []


def test_anything_but_a_clear_yes_at_the_terminal_shares_nothing(service: FakeService, here: Path) -> None:
    """R26, V7: also what was typed before the question was there."""
    variables = {"RUNNER_STATE_DIR": os.environ["RUNNER_STATE_DIR"], "HOME": str(here)}
    with Terminal("share", "report.txt", "--to", "maria", environment=variables, before=b"y\n") as terminal:
        terminal.wait_for("[y/N]")
        assert terminal.answer(b"\n") == 1
        assert "nothing was shared" in terminal.text
    assert [what for what, _ in service.asked] == ["share plan"]


def made_link(here: Path) -> None:
    (here / "odd").symlink_to("report.txt")


def made_pipe(here: Path) -> None:
    os.mkfifo(here / "odd")


def made_socket(here: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("odd")


def made_folder(here: Path) -> None:
    (here / "odd").mkdir()


def made_huge(here: Path) -> None:
    with (here / "odd").open("wb") as file:
        file.truncate(8 * 1024 * 1024 + 1)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (made_link, "it is a link"),
        (made_pipe, "it is no regular file"),
        (made_socket, "No such device or address"),
        (made_folder, "it is no regular file"),
        (made_huge, "it is over"),
        (lambda _: None, "No such file"),
    ],
)
def test_only_regular_files_of_some_size_are_read(
    run: Run, service: FakeService, here: Path, made: Callable[[Path], None], says: str
) -> None:
    made(here)
    done = run("share", "report.txt", "odd", "--to", "maria", "--yes")
    assert (done.code, says in done.err) == (2, True), done.err
    assert service.asked == []


def test_a_file_that_grows_while_it_is_read_is_not_shared(
    run: Run, service: FakeService, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fstat

    def growing(handle: int) -> os.stat_result:
        found = real(handle)
        with (here / "report.txt").open("a") as file:
            file.write("more\n")
        return found

    monkeypatch.setattr(outgoing.os, "fstat", growing)
    done = run("share", "report.txt", "--to", "maria", "--yes")
    assert (done.code, "it changed while it was read" in done.err) == (2, True)
    monkeypatch.undo()
    said = run("share", "/proc/self/status", "--to", "maria", "--yes")
    assert (said.code, "it changed while it was read" in said.err) == (2, True)


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "gpj.\u202eexe", "two\nlines", "back\\slash", "x" * 201, os.fsdecode(b"\xff")])
def test_a_name_that_deceives_or_cannot_be_written_down_is_refused(
    run: Run, service: FakeService, here: Path, name: str
) -> None:
    (here / name).write_bytes(b"")
    done = run("share", f"./{name}", "--to", "maria", "--yes")
    assert done.code == 2
    assert "\x1b" not in done.err
    assert service.asked == []


def test_two_files_of_one_name_no_contact_and_no_file_are_refused(run: Run, door: Door, here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/REPORT.txt").write_text("x")
    codes = [
        run("share", *words, "--yes").code
        for words in (
            ("report.txt", "sub/REPORT.txt", "--to", "maria"),
            ("report.txt",),
            ("--to", "maria"),
            ("report.txt", "--to", "maria", "--for", "soon"),
        )
    ]
    assert codes == [2, 2, 2, 2]
    assert run("share", "report.txt", "--to", "nobody", "--yes").code == 3
    (here / "withdraw").write_text("a file of that name")
    assert run("share", "withdraw", "report.txt", "--to", "maria", "--yes").code == 0
    assert run("share", "withdraw", "s_zzzzzzzz").code == 3


def test_a_pause_and_a_block_stop_both_sides_with_their_exit_codes(run: Run, door: Door, here: Path, tmp_path: Path) -> None:
    """R31."""
    share = run("share", "report.txt", "--to", "maria", "--yes", "--json").json["id"]
    with door.store.begin() as conn:
        pausing.pause(conn, who=ANNA, reason=None, now=door.now)
    assert run("share", "report.txt", "--to", "maria", "--yes").code == 8
    paused = get(run, door, tmp_path, share, "--out", str(here / "in"))
    assert (paused.code, "cannot fetch what was shared: the other side is paused" in paused.err) == (8, True)
    with door.store.begin() as conn:
        pausing.resume(conn, who=ANNA, now=door.now)
    asyncio.run(door.contacts.block("maria", blocked=True, who=ANNA))
    assert [run("share", "report.txt", "--to", "maria", "--yes").code, get(run, door, tmp_path, share).code] == [7, 7]
    assert get(run, door, tmp_path, "s_0123456789abcdef").code == 7
    assert list(here.glob("in/*")) == []


def test_get_goes_on_after_a_fetch_that_was_cut_short(
    run: Run, door: Door, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole files or none: what came before the cut is not left under its name, and the same command goes on."""
    (here / "big").write_bytes(b"x" * (1024 * 1024 + 1))
    share = run("share", "report.txt", "big", "--to", "maria", "--yes", "--json").json["id"]
    real = Handing.piece

    async def cut(self: Handing, *words: Any) -> bytes:
        if words[-2:] == (2, 1):
            raise refused("clock")
        return await real(self, *words)

    monkeypatch.setattr(Handing, "piece", cut)
    assert get(run, door, tmp_path, share, "--out", str(here / "in")).code == 1
    assert [path.name for path in (here / "in").iterdir()] == ["report.txt"]
    monkeypatch.undo()
    monkeypatch.setenv("RUNNER_STATE_DIR", str(tmp_path / "hers"))
    assert get(run, door, tmp_path, share, "--out", str(here / "in")).code == 0
    assert (here / "in/big").read_bytes() == (here / "big").read_bytes()


def test_the_record_reads_as_a_line_and_show_shows_one_whole(run: Run, door: Door, here: Path, service: FakeService) -> None:
    """R28: who, what, to whom; a name that deceives could not even be shared."""
    share = run("share", "report.txt", "--to", "maria", "--yes", "--json").json["id"]
    with door.store.reading() as conn:
        (row,) = audit.of_subject(conn, share)
    facts = json.loads(row.data)
    service.event_rows = [{"seq": 1, "time": row.time, "event": row.event, "subject": share, "who": "anna", "data": facts}]
    said = run("log").out
    assert all(word in said for word in ("share.offer", share, "maria ⟨", "names report.txt", "files 1", "bytes 38"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["share", "withdraw"], "cannot withdraw: give one share\nhint: runner shares lists what can be fetched"),
        (["share", "withdraw", "s_0123456789abcdef"], "hint: runner shares --all lists them"),
        (["share", "report.txt", "--to", "maria", "--for", "0s", "--yes"], "cannot use --for 0s: nobody could fetch it"),
        (["share", "report.txt", "--to", "maria", "--for", "91d", "--yes"], "cannot share for 91.0 days: 90 are the most"),
        (
            ["share", "huge", "--to", "maria", "--yes"],
            "cannot share huge: it is over 8 MiB\nhint: pack it, or share a part of it",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do_instead(
    words: list[str], says: str, run: Run, door: Door, here: Path
) -> None:
    with (here / "huge").open("wb") as file:
        file.truncate(2**40)
    refused_ = run(*words)
    assert (refused_.code in {2, 3}, says in refused_.err) == (True, True), refused_.err
    assert events(door) == []


def test_a_refusal_says_what_was_refused(run: Run, door: Door, tmp_path: Path) -> None:
    asked = get(run, door, tmp_path, "c_0123456789abcdef")
    assert (asked.code, "cannot ask about the capture: there is no such capture" in asked.err) == (3, True), asked.err
    asked = get(run, door, tmp_path, "s_0123456789abcdef")
    assert (asked.code, "cannot fetch what was shared: there is no such share" in asked.err) == (3, True), asked.err
