"""send: the capture that leaves, and the wait for its run."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.model import OWNER, Capture, Image
from tests.helpers.fake_service import CAPTURE, RUN, FakeService, a_run
from tests.unit.cli.conftest import Ran, spawn

Run = Callable[..., Ran]
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def sent(service: FakeService) -> Capture:
    name, found = service.asked[0]
    assert name == "send"
    capture, sender = found  # type: ignore[misc]
    assert sender == OWNER
    return capture  # type: ignore[no-any-return]


def test_every_flag_becomes_its_field(run: Run, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"page \xff text")
    (tmp_path / "dot.png").write_bytes(PNG)
    flags = ("--note", "n", "--intent", "i", "--url", "http://u", "--title", "t", "--label", "a", "--label", "b")
    files = ("--text-file", str(tmp_path / "page"), "--image", str(tmp_path / "dot.png"))
    ran = run("send", "scribe", *flags, *files, "--json")
    assert (ran.code, ran.json, ran.err) == (0, {"capture": CAPTURE, "run": RUN}, "")
    assert sent(service) == Capture(
        agent="scribe",
        note="n",
        intent="i",
        url="http://u",
        title="t",
        labels=("a", "b"),
        text="page \ufffd text",
        images=(Image(name="dot.png", media_type="image/png", data=PNG),),
    )


def test_a_capture_file_is_sent_and_flags_stand_above_it(run: Run, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"agent": "scribe", "note": "old", "text": "page"}))
    assert run("send", "--capture", str(tmp_path / "c.json"), "--note", "new").code == 0
    assert sent(service) == Capture(agent="scribe", note="new", text="page")


def test_a_capture_comes_from_stdin_too(service: FakeService) -> None:
    ran = spawn("send", "--capture", "-", input=json.dumps({"agent": "scribe", "note": "n"}))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert sent(service) == Capture(agent="scribe", note="n")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"agent": "a", "agent": "b", "note": "x"}', '{"note": "x"}', '{"agent": "other", "note": "x"}']
)
def test_a_capture_that_is_not_right_is_not_sent(text: str, run: Run, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    agent = ("scribe",) if "other" in text else ()
    assert run("send", *agent, "--capture", str(tmp_path / "c.json")).code == 2
    assert service.asked == []


def test_the_supervisor_refuses_what_it_does_not_know(run: Run, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"agent": "scribe", "note": "x", "sender": "owner"}')
    ran = run("send", "--capture", str(tmp_path / "c.json"))
    assert ran.code == 2
    assert service.asked == []


def test_a_file_that_is_no_picture_is_refused(run: Run, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_text("<svg/>")
    assert run("send", "scribe", "--note", "x", "--image", str(tmp_path / "x.png")).code == 2
    assert service.asked == []


def test_waiting_shows_each_step_and_then_the_reply(run: Run, service: FakeService) -> None:
    """cli.md: progress on stderr, whom it waits for, the reply on stdout."""
    service.run_row = a_run(state="queued", progress="queued", approvals=[], version=1)
    service.later = [
        a_run(version=2),
        a_run(state="replied", progress="", approvals=[], reply="done\x1b[2J", version=3),
    ]
    ran = run("send", "scribe", "--note", "x", "--wait")
    assert ran.code == 0
    steps = [line[9:] for line in ran.err.splitlines() if line[7:9] == "  " or " s  " in line[:10]]
    assert steps == [
        "sending to scribe",
        f"sent {CAPTURE}, run {RUN}",
        "queued",
        "waiting for a person: a_0123456789abcdef",
        "replied",
    ]
    assert "  look and decide: runner approve a_0123456789abcdef" in ran.err.splitlines()
    assert ran.out.splitlines()[-1] == "│ done\\u{1b}[2J"


def test_waiting_as_json_is_one_document(run: Run, service: FakeService) -> None:
    service.run_row = a_run(state="failed", reply=None, reason="no image", approvals=[])
    ran = run("send", "scribe", "--note", "x", "--wait", "--json")
    assert ran.code == 1
    assert ran.json == {"capture": CAPTURE, "run": RUN, "state": "failed", "reply": None, "reason": "no image"}


def test_json_lines_are_documents_a_line_each(run: Run, service: FakeService) -> None:
    service.later = [a_run(state="replied", progress="", approvals=[], reply="ok", version=9)]
    ran = run("send", "scribe", "--note", "x", "--json-lines")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["state"] for line in lines] == ["held", "replied", "replied"]
    assert lines[-1] == {"capture": CAPTURE, "run": RUN, "state": "replied", "reply": "ok", "reason": None}
