"""System calls tried from inside: what the list refuses is refused by this kernel (M1, invariant 7)."""

from __future__ import annotations

import ctypes
import json
import platform

import pytest

from campaigns.calls import asked_engine, our_list, recorded, wider
from runner.resources import sandbox_dir
from tests.integration.sandbox.inside import inside, program

pytestmark = pytest.mark.docker

EPERM, ENOSYS = 1, 38
#: x86_64 numbers; perl calls them raw.
CALLS: dict[str, tuple[int, tuple[int, ...], int]] = {
    "io_uring_setup": (425, (1, 0), EPERM),
    "userfaultfd": (323, (0,), EPERM),
    "bpf": (321, (0, 0, 0), EPERM),
    "ptrace": (101, (0, 0, 0, 0), EPERM),
    "process_vm_readv": (310, (1, 0, 0, 0, 0, 0), EPERM),
    "keyctl": (250, (0, 0), EPERM),
    "add_key": (248, (0, 0, 0, 0, 0), EPERM),
    "mount": (165, (0, 0, 0, 0, 0), EPERM),
    "fsopen": (430, (0, 0), EPERM),
    "open_tree": (428, (0, 0, 0), EPERM),
    "move_mount": (429, (0, 0, 0, 0, 0), EPERM),
    "unshare a user namespace": (272, (0x10000000,), EPERM),
    "setns": (308, (0, 0), EPERM),
    "clone with a user namespace": (56, (0x10000011, 0, 0, 0, 0), EPERM),
    "clone3": (435, (0, 0), ENOSYS),
    "personality": (135, (0x0040000,), EPERM),
    "perf_event_open": (298, (0, 0, -1, -1, 0), EPERM),
    "kexec_load": (246, (0, 0, 0, 0), EPERM),
    "init_module": (175, (0, 0, 0), EPERM),
    "reboot": (169, (0, 0, 0, 0), EPERM),
    "swapon": (167, (0, 0), EPERM),
    "chroot": (161, (0,), EPERM),
    "open_by_handle_at": (304, (0, 0, 0), EPERM),
    "name_to_handle_at": (303, (0, 0, 0, 0, 0), EPERM),
    "pidfd_getfd": (438, (0, 0, 0), EPERM),
    "mknod": (133, (0, 0o10000, 0), EPERM),
    "internet socket": (41, (2, 1, 0), EPERM),
    "packet socket": (41, (17, 3, 0), EPERM),
    "vsock socket": (41, (40, 1, 0), EPERM),
    "netlink socket": (41, (16, 3, 0), EPERM),
    "setuid": (105, (0,), EPERM),
    "seccomp": (317, (0, 0, 0), EPERM),
    "sethostname": (170, (0, 0), EPERM),
    "shmget": (29, (0, 4096, 0o1000), EPERM),
}


@pytest.fixture(scope="module")
def answers(engine, sandbox_image, tmp_path_factory) -> dict[str, str]:
    assert platform.machine() == "x86_64", "these numbers are x86_64's"
    call = '$! = 0; $r = syscall(%d, %s); printf("%s=%%d/%%d\\n", $r, $!);'
    lines = "".join(call % (number, ", ".join(map(str, words)), name) for name, (number, words, _) in CALLS.items())
    said = program(engine, tmp_path_factory.mktemp("calls"), sandbox_image, "perl", "-e", lines)
    assert said.code == 0, said
    return dict(line.split("=") for line in said.out.splitlines())


@pytest.mark.parametrize("name", CALLS)
def test_a_refused_call_is_refused_by_this_kernel(answers, name):
    assert answers[name] == f"-1/{CALLS[name][2]}"


def test_a_call_of_the_x32_kind_is_refused(engine, sandbox_image, tmp_path):
    """cosai-oasis/ws4#167: the same calls under other numbers."""
    said = program(engine, tmp_path, sandbox_image, "perl", "-e", '$r = syscall(0x40000000 | 39); print "pid $r"')
    assert not said.out.startswith("pid ") or said.out == "pid -1"


def test_a_call_of_the_32_bit_kind_kills_its_process(engine, sandbox_image, tmp_path):
    """A tiny 32-bit program in the snapshot that asks for its pid and exits with 7."""
    code = bytes.fromhex("b814000000cd80b801000000bb07000000cd80")
    header = bytes.fromhex("7f454c46010101000000000000000000020003000100000054800408340000000000000000000000")
    header += bytes.fromhex("340020000100000000000000")
    size = (52 + 32 + len(code)).to_bytes(4, "little")
    segment = bytes.fromhex("01000000000000000080040800800408") + size + size + bytes.fromhex("0500000000100000")
    (tmp_path / "snapshot").mkdir()
    program_file = tmp_path / "snapshot" / "old"
    program_file.write_bytes(header + segment + code)
    program_file.chmod(0o555)
    said = inside(engine, tmp_path, sandbox_image, "/workspace/old; echo $?")
    assert said.out.split()[-1] != "7"


#: uretprobe and uprobe: newer kernels look at them before any filter, and kill whoever calls them by hand.
PASSED_BY = {335, 336}


def numbers(names: set[str]) -> set[int]:
    """This machine's numbers of calls, by the library that the engine's runtime makes its filters with."""
    library = ctypes.CDLL("libseccomp.so.2")
    return {library.seccomp_syscall_resolve_name(name.encode()) for name in names}


def test_every_call_that_is_not_listed_is_refused_by_this_kernel(engine, sandbox_image, tmp_path):
    """M1: deny by default, tried number by number. What is newer than the filter's maker is told to be not there."""
    rules = json.loads((sandbox_dir() / "seccomp.json").read_text())["syscalls"]
    listed = numbers({name for rule in rules for name in rule["names"]})
    tried = [number for number in range(600) if number not in listed | PASSED_BY]
    assert len(tried) > 300
    loop = f"for my $n ({','.join(map(str, tried))}) {{ $! = 0; my $r = syscall($n, 0, 0, 0, 0, 0, 0);"
    loop += 'print "$n $r ", $! + 0, "\\n" unless $r == -1 && ($! == 1 || $! == 38) } print "tried\\n"'
    said = program(engine, tmp_path, sandbox_image, "perl", "-e", loop)
    assert (said.out, said.err) == ("tried\n", "")


def test_whatever_ours_lets_in_the_engines_own_list_lets_in_too(sandbox_image):
    """M1: derived from the engine's, minus much; asked of the engine at hand, as its runtime is told."""
    version, theirs = asked_engine(sandbox_image.id)
    assert wider(our_list(), theirs) == ()
    was, listed = recorded()
    assert version != was or listed == theirs, "record it anew: python -m campaigns.calls --record"
