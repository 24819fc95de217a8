"""A picture's way, end to end: decoded apart, stored, saved by a person and given to the model, the same bytes (I1, R2)."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing

import pytest

from runner.captures import BOUNDS
from tests.helpers import pictures
from tests.helpers.pictures import OBEY, chunk
from tests.helpers.supervisor_process import SupervisorProcess, text

pytestmark = pytest.mark.docker


def given_to_the_cli(supervisor: SupervisorProcess, run: str) -> list[bytes]:
    """Pictures of the prompt, as the CLI in the container wrote them into its transcript."""
    with closing(sqlite3.connect(supervisor.state / "runner.db")) as rows:
        entries = [json.loads(row[0]) for row in rows.execute("SELECT entry FROM transcript WHERE run = ? ORDER BY n", (run,))]
    prompts = [entry["message"]["content"] for entry in entries if entry.get("type") == "user"]
    found = [block for content in prompts if isinstance(content, list) for block in content if block["type"] == "image"]
    return [base64.b64decode(block["source"]["data"]) for block in found]


def test_the_model_is_given_the_very_picture_that_a_person_can_save(supervisor: SupervisorProcess) -> None:
    """I1, P4, item 102: the largest there may be; its metadata reaches nobody; it taints the run."""
    large = pictures.noise(1400, 1000).replace(
        chunk(b"IEND", b""), chunk(b"tEXt", b"Comment\0" + OBEY) + chunk(b"IEND", b"") + OBEY
    )
    sent, saved = supervisor.home / "sent.png", supervisor.home / "saved.png"
    sent.write_bytes(large)
    (supervisor.home / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>")
    (supervisor.home / "broken.png").write_bytes(large[:5000])
    supervisor.script([text("A picture.")])
    supervisor.start()
    supervisor.publish()

    refused = [
        supervisor.run("send", "tester", "--image", str(supervisor.home / name)) for name in ("drawing.svg", "broken.png")
    ]
    assert [one.returncode for one in refused] == [2, 2]
    assert "it cannot be decoded" in refused[1].stderr
    assert supervisor.ask("runs") == {"runs": []}

    ended = supervisor.until(supervisor.send("What is it?", "--image", str(sent)), "replied")
    assert supervisor.run("picture", ended["capture"], "--out", str(saved)).returncode == 0
    kept = saved.read_bytes()
    assert 0.5 * BOUNDS.shown_bytes < len(kept) <= BOUNDS.shown_bytes
    assert pictures.pixels(kept)
    assert OBEY not in kept
    assert given_to_the_cli(supervisor, ended["id"]) == [kept]
    assert [taint["says"] for taint in ended["taint"]] == [f"images of capture {ended['capture']}"]
