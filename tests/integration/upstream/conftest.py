"""The upstream double in a container of its own, and one supervisor that has it for its model."""

from __future__ import annotations

import re
import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.sandbox.engine import ImageInfo
from scripts import machine
from tests.helpers.supervisor_process import SupervisorProcess, labelled
from tests.integration.upstream.stage import KEY, Double, Stage

#: Names the double's container, so that no other session's is taken for a leftover of this one.
LABEL = secrets.token_hex(8)


#: What pytest-docker has Compose call the image of a session's process.
_IMAGE = re.compile(r"pytest(\d+)[_-]upstream")


def _docker(*arguments: str) -> list[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False).stdout.split()


def _remove_of_the_dead() -> None:
    """A session that was killed has cleaned nothing up: its double and that one's image go with the next session."""
    for image in _docker("images", "--format", "{{.Repository}}"):
        found = _IMAGE.fullmatch(image)
        if found is not None and not Path(f"/proc/{found[1]}").exists():
            _docker("rm", "--force", *_docker("ps", "--all", "--quiet", "--filter", f"ancestor={image}"))
            _docker("rmi", image)


@pytest.fixture(scope="session")
def docker_compose_command() -> str:
    """Whatever is Compose here."""
    found = machine.compose()
    assert found is not None, "the model's upstreams are tested with Docker Compose, which make test installs or asks for"
    return found


@pytest.fixture(scope="session")
def docker_compose_file() -> str:
    """The one beside this file."""
    return str(Path(__file__).with_name("docker-compose.yml"))


@pytest.fixture(scope="session")
def docker_setup() -> list[str]:
    """Compose 1 does not know pytest-docker's `--wait`: it prints its usage, exits 0 and starts nothing."""
    return ["up --build -d"]


@pytest.fixture(scope="session")
def docker_cleanup() -> list[str]:
    """Nothing stays: the image costs a layer of one file to build."""
    return ["down -v --rmi local"]


@pytest.fixture(scope="session")
def upstream_port(sandbox_image: ImageInfo) -> Iterator[int]:
    """What the compose file reads: a port that is free now, the image below the double's, and the label."""
    _remove_of_the_dead()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("UPSTREAM_PORT", str(port))
        environment.setenv("UPSTREAM_BASE", sandbox_image.tag)
        environment.setenv("UPSTREAM_LABEL", LABEL)
        yield port


@pytest.fixture(scope="session")
def double(upstream_port: int, request: pytest.FixtureRequest) -> Double:
    """The double, answering."""
    services = request.getfixturevalue("docker_services")  # only now: it reads what `upstream_port` has set
    found = Double(url=f"http://127.0.0.1:{upstream_port}")

    def answers() -> bool:
        try:
            return found.seen("nobody") == []
        except OSError:
            return False

    services.wait_until_responsive(answers, timeout=30, pause=0.05)
    assert len(labelled(f"runner.test={LABEL}")) == 1
    return found


@pytest.fixture(scope="session")
def stage(double: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A supervisor with the double for its model; afterwards nothing of it is left."""
    supervisor = SupervisorProcess(tmp_path_factory.mktemp("upstream") / "home")
    supervisor.environment = {"RUNNER_MODEL": double.url, "ANTHROPIC_API_KEY": KEY, "RUNNER_MODEL_TIMEOUT": "1"}
    supervisor.start()
    supervisor.publish()
    yield Stage(supervisor=supervisor, double=double)
    supervisor.stop()
    assert supervisor.containers() == []
