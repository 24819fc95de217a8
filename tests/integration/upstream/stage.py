"""What a test of the model's upstreams works with: the double's door, and runs that tell the double what to do."""

from __future__ import annotations

import json
import secrets
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from runner.api.client import Client, as_object
from runner.model import JsonObject
from tests.helpers.supervisor_process import SupervisorProcess

#: A key as a provider would give out; whatever it is found in is a leak.
KEY = f"sk-ant-{secrets.token_hex(16)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Double:
    """The upstream's door."""

    url: str

    def seen(self, name: str) -> list[dict[str, Any]]:
        """Time, headers and body of every request whose prompt said `… as NAME`."""
        with urllib.request.urlopen(f"{self.url}/seen/{name}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A supervisor, its double, and the runs that were sent, by name."""

    supervisor: SupervisorProcess
    double: Double
    runs: dict[str, str] = field(default_factory=dict)

    def send(self, actions: str, name: str) -> str:
        """A run whose upstream does the next of `actions` at each request; the last one from then on."""
        capture: JsonObject = {"agent": "tester", "note": f"play {actions} as {name}"}
        with Client(self.supervisor.state / "control.sock") as client:
            self.runs[name] = str(as_object(client.post("captures", body=capture))["run"])
        return self.runs[name]

    def ended(self, name: str) -> dict[str, Any]:
        """A run once it has ended."""
        return self.supervisor.until(self.runs[name], "replied", "failed", "cancelled", "lost")
