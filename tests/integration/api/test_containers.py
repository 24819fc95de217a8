"""The control socket as a container meets it: not at all; and where somebody mounts it by mistake, refused (W1, W5)."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.sandbox.engine import ImageInfo
from tests.helpers.fake_service import APPROVAL, DIGEST, FakeService, served
from tests.integration.sandbox.inside import inside

pytestmark = pytest.mark.docker

#: Asks over a unix socket, and says the first line of the answer and its end.
ASK = r"""
use Socket; my ($path, $verb, $where, $body) = @ARGV;
socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!"; connect($s, sockaddr_un($path)) or die "connect: $!";
my $n = length $body;
syswrite $s, "$verb $where HTTP/1.1\r\nHost: runner\r\nContent-Type: application/json\r\n"
  . "Content-Length: $n\r\nConnection: close\r\n\r\n$body";
local $/; print scalar <$s>;
"""
#: Tries to connect to addresses, and says what it reached.
REACH = r"""
use Socket; my $paths = shift @ARGV;
for my $path (split / /, $paths) {
  socket(my $s, PF_UNIX, SOCK_STREAM, 0); print "reached $path\n" if connect($s, sockaddr_un($path));
}
for my $where (@ARGV) {
  my ($host, $port) = split /:/, $where; my $ip = inet_aton($host) or next;
  socket(my $s, PF_INET, SOCK_STREAM, 0) or next; local $SIG{ALRM} = sub { die "late\n" };
  print "reached $where\n" if eval { alarm 2; my $done = connect($s, sockaddr_in($port, $ip)); alarm 0; $done };
}
print "tried\n";
"""


@pytest.fixture
def control(tmp_path: Path) -> Iterator[tuple[FakeService, Path]]:
    tmp_path.chmod(0o700)
    service = FakeService()
    with served(service, tmp_path / "run") as path:
        yield service, path


def in_container(image: ImageInfo, path: Path, *options: str, words: tuple[str, ...]) -> str:
    """What perl says in a container of the test's own that has the socket's directory mounted."""
    mounted = ["-v", f"{path.parent}:/mistake"]
    shut = ["--network", "none", "--user", "0", "--entrypoint", "perl"]
    done = subprocess.run(
        ["docker", "run", "--rm", *shut, *mounted, *options, image.id, "-e", ASK, "/mistake/control.sock", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("--pid", "host"), ("--userns", "host")])
def test_a_process_in_a_container_is_refused_although_it_is_root_and_has_the_socket(
    options: tuple[str, ...], control: tuple[FakeService, Path], sandbox_image: ImageInfo
) -> None:
    """W1: its pid namespace gives it away, and where it shares the host's, its cgroup does."""
    service, path = control
    yes = f'{{"digest": "{DIGEST}"}}'
    for words in (("GET", "/v1/approvals", ""), ("POST", f"/v1/approvals/{APPROVAL}/approve", yes)):
        said = in_container(sandbox_image, path, *options, words=words)
        assert said.startswith("HTTP/1.1 403 "), said
        assert "in another namespace" in said
        assert DIGEST not in said
    assert (service.decisions, service.asked) == ([], [])


def test_the_same_words_from_the_host_are_answered(control: tuple[FakeService, Path]) -> None:
    """The control of the test above."""
    _, path = control
    done = subprocess.run(
        ["perl", "-e", ASK, str(path), "GET", "/v1/approvals", ""], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("HTTP/1.1 200 ")
    assert DIGEST in done.stdout


@contextmanager
def listening(address: str) -> Iterator[int]:
    """A TCP port of this host that takes connections."""
    with socket.create_server((address, 0)) as server:
        server.settimeout(0.2)
        stop = threading.Event()

        def accept() -> None:
            while not stop.is_set():
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            stop.set()
            thread.join()


def test_from_inside_neither_the_control_socket_nor_a_port_nor_the_metadata_address_is_reached(
    engine, sandbox_image: ImageInfo, tmp_path: Path, control: tuple[FakeService, Path]
) -> None:
    """W5: nothing of the host answers, by any name the agent may know."""
    service, path = control
    own = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()[:1]
    with listening("0.0.0.0") as port:
        ports = [f"{host}:{port}" for host in ("127.0.0.1", "172.17.0.1", "10.0.2.2", *own)]
        socket.create_connection(("127.0.0.1", port), 5).close()  # the control
        addresses = [*ports, "169.254.169.254:80", "169.254.170.2:80", "127.0.0.1:2375", "127.0.0.1:22"]
        paths = f"{path} /var/run/docker.sock /run/runner/control.sock /mistake/control.sock"
        script = f"perl -e '{REACH}' '{paths}' {' '.join(addresses)}"
        (tmp_path / "box").mkdir()
        said = inside(engine, tmp_path / "box", sandbox_image, script)
    assert said.out == "tried\n", said
    assert service.asked == []
