"""What the machine's engine has, asked over its socket."""

from __future__ import annotations

import json
import os

import httpx2

ENGINE = "unix:///var/run/docker.sock"


def containers(label: str, *, status: str | None = None) -> list[str]:
    """Ids of containers with a label, in whatever state or in one: asked often, so without a command's cost."""
    socket = os.environ.get("DOCKER_HOST", ENGINE).removeprefix("unix://")
    with httpx2.Client(
        transport=httpx2.HTTPTransport(uds=socket, verify=False), base_url="http://engine", trust_env=False
    ) as client:
        filters = {"label": [label]} | ({} if status is None else {"status": [status]})
        wanted = {"all": "1", "filters": json.dumps(filters)}
        return [str(one["Id"]) for one in client.get("/containers/json", params=wanted).raise_for_status().json()]
