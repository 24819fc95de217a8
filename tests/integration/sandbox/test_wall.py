"""The wall tried from inside: no network, no secret, nothing written but scratch (M1, invariants 7 and 14, case 107)."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess

import pytest

from runner.model import Limits
from runner.sandbox.launch import Mounts
from runner.sandbox.snapshot import take_snapshot
from tests.helpers.sandbox_fixtures import OWNER
from tests.integration.sandbox.inside import inside, program

pytestmark = pytest.mark.docker


def test_there_is_no_route_no_device_and_no_name_service(engine, sandbox_image, tmp_path):
    script = """
    cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '
    tail -n +2 /proc/net/route | wc -l
    perl -e 'for my $family (1..45) { socket(my $s, $family, 1, 0) and print "family $family\n" }'
    getent hosts example.com || echo no name
    """
    said = inside(engine, tmp_path, sandbox_image, script)
    assert said.out.split("\n") == ["lo", "0", "family 1", "no name", ""]


def test_the_environment_holds_what_was_given_and_nothing_of_the_host(engine, sandbox_image, tmp_path, monkeypatch):
    """G2: a placeholder key only, in every process there."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-real-secret")
    said = inside(
        engine, tmp_path, sandbox_image, "cat /proc/*/environ /proc/self/environ | tr '\\0' '\\n' | cut -d= -f1 | sort -u; env"
    )
    names = {line for line in said.out.splitlines() if "=" not in line}
    assert names == {"ANTHROPIC_API_KEY", "HOME", "HOSTNAME", "PATH", "PWD"} - ({"PWD"} - names)
    assert "ANTHROPIC_API_KEY=none" in said.out
    assert "sk-real" not in said.out


def test_only_the_scratch_can_be_written(engine, sandbox_image, tmp_path):
    """Invariant 14: every mount is tried, and every directory of the image."""
    script = """
    cut -d' ' -f5 /proc/self/mountinfo | while read place; do
        (echo x > "$place/.w") 2>/dev/null && echo "$place"
        [ -f "$place" ] && (echo x >> "$place") 2>/dev/null && echo "$place"
    done
    find / -xdev -type d ! -path '/proc/*' -exec sh -c 'for d; do (: > "$d/.w") 2>/dev/null && echo "$d"; done' sh {} +
    """
    said = inside(engine, tmp_path, sandbox_image, script)
    scratch = {"/dev/shm", "/dev/mqueue", "/home/agent", "/tmp"}
    written = set(said.out.split())
    assert {"/home/agent", "/tmp"} <= written
    # /proc/keys and its like are /dev/null laid over a name.
    assert {place for place in written - scratch if not place.startswith("/proc/")} == set()


def test_nothing_in_the_scratch_can_be_run_and_it_has_a_size(engine, sandbox_image, tmp_path):
    script = """
    for place in /tmp /home/agent /dev/shm; do
        cp /bin/true $place/t && chmod 755 $place/t 2>/dev/null; $place/t && echo "ran in $place"
        head -c 1g /dev/zero > $place/big 2>/dev/null && echo "a gigabyte in $place"
        rm -f $place/big
    done
    mkdir /tmp/many && cd /tmp/many && perl -e 'for (1..20000) { open(F, ">$_") or last }'; ls | wc -l
    """
    said = inside(engine, tmp_path, sandbox_image, script)
    assert said.out.split("\n") == [str(count := int(said.out)), ""]
    assert 10_000 < count < 16_384


def test_the_snapshot_is_seen_and_cannot_be_changed(engine, sandbox_image, tmp_path):
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "a.txt").write_text("data")
    script = """
    cat a.txt
    for act in 'rm a.txt' 'mv a.txt b' 'touch c' 'chmod 777 a.txt' 'ln a.txt d'; do $act 2>/dev/null && echo $act; done
    """
    assert inside(engine, tmp_path, sandbox_image, script).out == "data"
    assert [(p.name, p.read_text()) for p in (tmp_path / "snapshot").iterdir()] == [("a.txt", "data")]


def test_what_is_planted_in_the_directory_is_not_reached(engine, sandbox_image, tmp_path, monkeypatch):
    """Case 107: socket, pipe, submount, hard link and link out, in the agent's directory on the host."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "in.txt").write_text("INSIDE")
    (tmp_path / "secret.txt").write_text("OUTSIDE-SECRET")
    os.link(tmp_path / "secret.txt", work / "hard.txt")
    (work / "soft.txt").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(work / "pipe")
    mounted = tmp_path / "elsewhere"
    mounted.mkdir()
    (mounted / "host.txt").write_text("OUTSIDE-SECRET")
    monkeypatch.chdir(work)
    subprocess.run(["mount", "--bind", str(mounted), str(work / "sub")], check=True)
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("door")
            door.listen()
            report = take_snapshot(
                work, tmp_path / "snapshot", read=["**"], hide=[], max_bytes=1000, max_files=100, allow_hard_links=False
            )
            said = inside(engine, tmp_path, sandbox_image, "find . ! -name . ; grep -r OUTSIDE . ; true")
    finally:
        subprocess.run(["umount", str(work / "sub")], check=True)
    assert said.out == "./in.txt\n"
    assert {item.path: item.reason for item in report.left_out} == {
        "door": "socket",
        "pipe": "named pipe",
        "hard.txt": "it has another name too (hard link)",
        "soft.txt": "link leads out",
        "sub": "another file system is mounted here",
    }


def test_a_mount_beneath_the_snapshot_is_not_carried_in(engine, sandbox_image, tmp_path):
    (tmp_path / "snapshot" / "sub").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("OUTSIDE")
    subprocess.run(["mount", "--bind", str(tmp_path / "other"), str(tmp_path / "snapshot" / "sub")], check=True)
    try:
        said = inside(engine, tmp_path, sandbox_image, "ls sub; (echo w > sub/w) 2>/dev/null || echo refused")
    finally:
        subprocess.run(["umount", str(tmp_path / "snapshot" / "sub")], check=True)
    assert said.out == "refused\n"
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["x"]


def test_the_gateways_socket_is_the_only_door(engine, sandbox_image, tmp_path):
    (tmp_path / "gateway").mkdir()
    path = tmp_path / "gateway" / "api.sock"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        path.chmod(0o666)
        door.listen()
        said = inside(
            engine,
            tmp_path,
            sandbox_image,
            "find / -xdev -type s 2>/dev/null; find /run /var /tmp -type s; rm -f /run/gateway/api.sock; ls /run/gateway",
        )
    assert said.out == "/run/gateway/api.sock\napi.sock\n"


def test_a_fork_bomb_ends_at_its_limit(engine, sandbox_image, tmp_path):
    """Case 104."""
    script = "n=0; while [ $n -lt 200 ]; do sleep 5 & n=$((n+1)); done; echo all started"
    said = inside(engine, tmp_path, sandbox_image, script, limits=Limits(pids=40))
    assert "all started" not in said.out
    assert said.code == 2
    assert "annot fork" in said.err


def test_memory_ends_at_its_limit(engine, sandbox_image, tmp_path):
    said = program(
        engine,
        tmp_path,
        sandbox_image,
        "perl",
        "-e",
        '$x = "x" x 400_000_000; print "had it"',
        limits=Limits(memory=128 * 1024**2),
    )
    assert (said.code, said.out) == (137, "")


def test_no_file_has_a_setuid_bit_and_there_is_no_python(engine, sandbox_image, tmp_path):
    script = """
    find / -xdev -perm /6000 ! -type l
    command -v python3 python
    ls /usr/bin | grep -c python
    git --version
    rg --version | head -1
    """
    said = inside(engine, tmp_path, sandbox_image, script)
    lines = said.out.splitlines()
    assert lines[0] == "0"
    assert [line.split()[0] for line in lines[1:]] == ["git", "ripgrep"]


def test_every_reserved_uid_has_a_name_and_owns_only_its_home(engine, sandbox_image, tmp_path):
    said = inside(
        engine, tmp_path, sandbox_image, "id -un; stat -c '%u %a' $HOME; find / -xdev -user $(id -u) 2>/dev/null", uid=10999
    )
    assert said.out == "agent10999\n10999 700\n/home/agent\n"


def test_a_transcript_is_handed_over_and_can_be_written_on(engine, sandbox_image, tmp_path):
    session = tmp_path / "session"
    session.mkdir()
    (session / "abc.jsonl").write_text("{}\n")
    (session / "other.txt").write_text("x")
    (session / "link.jsonl").symlink_to("/etc/passwd")
    (session / "gateway").mkdir()
    mounts = Mounts(snapshot=tmp_path / "snapshot", gateway=tmp_path / "gateway", session=session)
    script = """
    cd $HOME/.claude/projects/-workspace && ls && echo more >> abc.jsonl && cat abc.jsonl
    (echo x > /run/session/abc.jsonl) 2>/dev/null || echo refused
    """
    said = inside(engine, tmp_path, sandbox_image, script, mounts=mounts)
    assert said.out == "abc.jsonl\n{}\nmore\nrefused\n"


def test_nothing_is_left_behind(engine, sandbox_image, tmp_path):
    assert inside(engine, tmp_path, sandbox_image, "sleep 1000 & echo started").out == "started\n"
    assert asyncio.run(engine.find({"runner.state": OWNER})) == ()
