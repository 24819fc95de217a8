"""What the machine's engine has, asked over its socket."""

from __future__ import annotations

import json
import os

import httpx2

ENGINE = "unix:///var/run/docker.sock"


def containers(label: str) -> list[str]:
    """Ids of containers with a label, running or not: asked often, so without a command's cost."""
    socket = os.environ.get("DOCKER_HOST", ENGINE).removeprefix("unix://")
    with httpx2.Client(
        transport=httpx2.HTTPTransport(uds=socket, verify=False), base_url="http://engine", trust_env=False
    ) as client:
        wanted = {"all": "1", "filters": json.dumps({"label": [label]})}
        return [str(one["Id"]) for one in client.get("/containers/json", params=wanted).raise_for_status().json()]
