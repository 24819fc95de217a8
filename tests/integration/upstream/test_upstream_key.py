"""The operator's key: a header to the upstream and nothing else, wherever one looks (G2, invariant 7)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.helpers.supervisor_process import eventually
from tests.integration.upstream.stage import KEY, Stage

pytestmark = pytest.mark.docker


def files_with(text: str, folder: Path) -> list[str]:
    """Files anywhere beneath a folder that hold a text."""
    needle = text.encode()
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def inside(container: str) -> str:
    """All that the engine and the container's own processes know of it."""
    inspected = subprocess.run(["docker", "inspect", container], capture_output=True, text=True, check=True).stdout
    look = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; find /home /tmp /run -type f -exec cat {} +"
    seen = subprocess.run(["docker", "exec", container, "sh", "-c", look], capture_output=True, check=False).stdout
    return inspected + seen.decode(errors="replace")


def test_the_key_reaches_the_upstream_as_its_header_and_is_nowhere_else(stage: Stage) -> None:
    """Looked for while a run waits for its model, and after an upstream has repeated the key in its answer."""
    supervisor = stage.supervisor
    failed = stage.send("401", "echoes")
    stage.ended("echoes")
    waiting = stage.send("stall", "waits")
    eventually(lambda: stage.double.seen("waits") or None, "the model is asked")
    (container,) = supervisor.containers()
    known = inside(container)
    supervisor.run("stop", waiting)
    # What is really there is found this way, so that what is not found is really absent.
    assert "placeholder-the-gateway-has-the-key" in known
    assert KEY not in known
    assert "state/runner.db" in " ".join(files_with("play stall as waits", supervisor.home))
    assert files_with(KEY, supervisor.home) == []
    assert KEY not in json.dumps([supervisor.show(failed), supervisor.ask("status")]) + supervisor.log


def test_every_request_carries_the_key_as_its_header_only(stage: Stage) -> None:
    """sdk.md §6: the placeholder of the container goes nowhere."""
    stage.send("ok", "header")
    stage.ended("header")
    (request,) = stage.double.seen("header")
    headers, body = request["headers"], request["body"]
    assert [name for name, value in headers.items() if KEY in str(value)] == ["x-api-key"]
    assert headers["x-api-key"] == KEY
    assert "authorization" not in headers
    assert KEY not in body
    assert "placeholder" not in json.dumps(headers) + body
