"""Two contacts and the owner at one agent, at once and later, each with canaries wherever a byte could stay (issue 8).

Real engine, real CLI, containers that wait, and a model that answers each conversation by what its first message holds.
"""

from __future__ import annotations

import http.server
import json
import re
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.model import JsonObject
from tests.e2e.test_pool import paused
from tests.e2e.test_strangers_apart import add
from tests.helpers.supervisor_process import SupervisorProcess, eventually
from tests.helpers.upstream import reply_events, sse, text, tool_use

pytestmark = pytest.mark.docker

CANARY = re.compile(r"CANARY-([A-Z0-9]+)-([A-Z]+)")
PLACES = "/home/agent /tmp /dev/shm /run/gateway /run/session /workspace"
#: All that a process of the container can read of what others may have left: files, environments, command lines.
LOOK = (
    f"grep -rhos 'CANARY-[A-Z0-9]*-[A-Z]*' {PLACES}; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"
)


@dataclass
class Model:
    """Plays the same three turns to everybody, with their own canary in each; keeps every body it was sent."""

    bodies: list[str] = field(default_factory=list)

    def answer(self, body: str) -> bytes:
        """Read, then ask for a write, then say the last word."""
        self.bodies.append(body)
        told = json.loads(body)["messages"]
        turn = sum(message["role"] == "assistant" for message in told)
        found = CANARY.search(json.dumps(told[0]))
        name = found[1] if found else "NOBODY"
        path, content = f"/workspace/given/{name}.txt", f"CANARY-{name}-FILE"
        call = f"toolu_{name}{turn}"
        turns = [
            tool_use("Grep", '{"pattern": "CANARY", "path": "/workspace", "output_mode": "content"}', identity=call),
            tool_use("mcp__runner__Write", json.dumps({"file_path": path, "content": content}), identity=call),
            text(f"CANARY-{name}-REPLY"),
        ]
        stop = "tool_use" if turn < 2 else "end_turn"
        return sse(*reply_events(turns[min(turn, 2)], message=f"msg_{name}{turn}", stop=stop))

    @contextmanager
    def serving(self) -> Iterator[str]:
        """On loopback; gives the URL."""
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                counting = "count_tokens" in self.path
                answer = b'{"input_tokens": 10}' if counting else model.answer(body)
                self.send_response(200)
                self.send_header("content-type", "application/json" if counting else "text/event-stream")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Silence."""

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            server.shutdown()
            thread.join()


def canaries(found: str) -> set[str]:
    return {"-".join(hit) for hit in CANARY.findall(found)}


def of(name: str) -> set[str]:
    """Everything that belongs to one run."""
    return {f"{name}-{kind}" for kind in ("PROMPT", "PAGE", "TMP", "HOME", "FILE", "REPLY")}


@dataclass
class Party:
    """One run and what it may hold."""

    name: str
    run: str
    may: set[str]
    container: str = ""


class Scene:
    """The supervisor, the model, and the look into every place."""

    def __init__(self, supervisor: SupervisorProcess, model: Model) -> None:
        self.supervisor = supervisor
        self.model = model

    def sent(self, name: str, *sender: str, may: set[str]) -> Party:
        """A run that waits with its write, its container alive and with canaries of its own in it."""
        page = self.supervisor.home / f"{name}.txt"
        page.write_text(f"a page with CANARY-{name}-PAGE")
        run = self.supervisor.send(f"CANARY-{name}-PROMPT", "--text-file", str(page), *sender)
        return Party(name, run, of(name) | may)

    def planted(self, party: Party) -> None:
        """What a process of the agent's leaves behind."""
        shown = self.supervisor.until(party.run, "held")
        party.container = str(shown["segments"][-1]["container"])
        name = party.name
        script = f"echo CANARY-{name}-TMP >/tmp/left; echo CANARY-{name}-HOME >~/left; echo CANARY-{name}-TMP >/dev/shm/left"
        subprocess.run(["docker", "exec", party.container, "sh", "-c", script], check=True)

    def checked(self, party: Party) -> None:
        """Container, requests, transcript and folder hold this run's own and what it may hold, and nothing else."""
        inside = subprocess.run(
            ["docker", "exec", party.container, "sh", "-c", LOOK], capture_output=True, text=True, check=False
        )
        seen: dict[str, str] = {"container": inside.stdout}
        first = f"CANARY-{party.name}-PROMPT"
        bodies = [body for body in self.model.bodies if first in json.dumps(json.loads(body)["messages"][0])]
        seen["requests"] = "\n".join(bodies)
        with closing(sqlite3.connect(self.supervisor.state / "runner.db")) as raw:
            rows = raw.execute("SELECT entry FROM transcript WHERE run = ?", (party.run,)).fetchall()
        seen["transcript"] = "\n".join(entry for (entry,) in rows)
        seen["folder"] = files(folder_of(party.container))
        for place, found in seen.items():
            assert canaries(found) <= party.may, (party, place, canaries(found) - party.may)
        assert {f"{party.name}-TMP", f"{party.name}-HOME", f"{party.name}-PROMPT"} <= canaries(seen["container"])
        for place in ("requests", "transcript"):
            assert {f"{party.name}-PROMPT", f"{party.name}-PAGE"} <= canaries(seen[place]), place

    def ended(self, party: Party) -> None:
        """Its write is approved, and it answers."""
        (waiting,) = self.supervisor.queue(party.run)
        done = self.supervisor.approve(waiting)
        assert done.returncode == 0, done.stderr
        shown: JsonObject = self.supervisor.until(party.run, "replied", "failed")
        assert shown["reply"] == f"CANARY-{party.name}-REPLY", shown


def folder_of(container: str) -> Path:
    """The host's folder that a container's snapshot, gateway and transcript are in."""
    mounts = '{{range .Mounts}}{{if eq .Destination "/workspace"}}{{.Source}}{{end}}{{end}}'
    asked = ["docker", "inspect", "--format", mounts, container]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()).parent


def files(folder: Path) -> str:
    """All names and regular files beneath a folder, sockets left out."""
    found = [str(path.relative_to(folder)) for path in folder.rglob("*")]
    found += [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return "\n".join(found)


def test_no_byte_of_one_capture_is_found_with_another_at_once_or_later(supervisor: SupervisorProcess) -> None:
    """R56, R57, invariants 6, 10, item 88: home, tmp, transcript, pool, gateway, snapshot; files by whose effects they are."""
    model = Model()
    supervisor.environment |= {"RUNNER_POOL__SIZE": "1"}
    with model.serving() as url:
        supervisor.environment["RUNNER_MODEL"] = url
        supervisor.environment["ANTHROPIC_API_KEY"] = "a-key-that-nobody-checks"
        supervisor.start()
        add(supervisor, "maria", "ben")
        supervisor.publish(contacts=' ["maria", "ben"]', approvals='[approvals]\nhold = "10m"')
        scene, containers = Scene(supervisor, model), set[str]()
        first = [
            scene.sent("MARIA", "--as", "maria", may=set()),
            scene.sent("BEN", "--as", "ben", may=set()),
            scene.sent("OWNER", may=set()),
        ]
        _round(scene, first, containers)
        files_of = {party.name: {f"{party.name}-FILE"} for party in first}
        spare = eventually(lambda: next(iter(paused(supervisor)), None), "a container waits")
        second = [
            scene.sent("MARIA2", "--as", "maria", may=files_of["MARIA"] | files_of["OWNER"]),
            scene.sent("BEN2", "--as", "ben", may=files_of["BEN"] | files_of["OWNER"]),
            scene.sent("OWNER2", may=set().union(*files_of.values())),
        ]
        _round(scene, second, containers)
        assert len(containers) == 6
        assert spare in {party.container for party in second}
        owners: Any = [body for body in model.bodies if "CANARY-OWNER2-PROMPT" in body][-1]
        assert {"MARIA-FILE", "BEN-FILE"} <= canaries(owners)


def _round(scene: Scene, parties: list[Party], containers: set[str]) -> None:
    for party in parties:
        scene.planted(party)
    for party in parties:
        scene.checked(party)
        containers.add(party.container)
    for party in parties:
        scene.ended(party)
