"""The list of system calls that a container may make (M1)."""

from __future__ import annotations

import json

import pytest

from runner.resources import data_dir, dockerfile, profiles_dir, sandbox_dir


def words(text: str) -> list[str]:
    return text.split()


PROFILE = json.loads((sandbox_dir() / "seccomp.json").read_text())
ALLOWED = {
    name for rule in PROFILE["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule for name in rule["names"]
}

DENIED = words(
    "io_uring_setup io_uring_enter io_uring_register userfaultfd bpf ptrace process_vm_readv process_vm_writev "
    "process_madvise kcmp pidfd_getfd keyctl add_key request_key mount umount2 fsopen fsconfig fsmount fspick "
    "open_tree move_mount mount_setattr pivot_root chroot unshare setns personality perf_event_open kexec_load "
    "kexec_file_load init_module finit_module delete_module reboot swapon swapoff clone clone3 socket socketpair "
    "socketcall mknod mknodat open_by_handle_at name_to_handle_at iopl ioperm modify_ldt settimeofday clock_settime "
    "adjtimex clock_adjtime sethostname setdomainname syslog acct quotactl lookup_dcookie fanotify_init vmsplice "
    "remap_file_pages move_pages migrate_pages mbind set_mempolicy memfd_secret io_setup io_submit setuid setgid "
    "setresuid setgroups capset setxattr fsetxattr shmget semget msgget mq_open uselib ustat sysfs vhangup "
    "nfsservctl seccomp "
)


def test_everything_not_named_is_refused_and_only_native_calls_are_known():
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert PROFILE["archMap"] == [
        {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
    ]


@pytest.mark.parametrize("name", DENIED)
def test_a_dangerous_call_is_not_on_the_list(name):
    assert name not in ALLOWED


def test_the_calls_with_conditions_are_these():
    found = [
        (rule["names"], rule["action"], rule.get("args"), rule.get("errnoRet"))
        for rule in PROFILE["syscalls"]
        if "args" in rule or "errnoRet" in rule
    ]
    assert found == [
        (["socket", "socketpair"], "SCMP_ACT_ALLOW", [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}], None),
        (["clone"], "SCMP_ACT_ALLOW", [{"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}], None),
        (["clone3"], "SCMP_ACT_ERRNO", None, 38),
    ]


def test_no_call_is_named_twice():
    names = [name for rule in PROFILE["syscalls"] for name in rule["names"]]
    assert len(names) == len(set(names))


def test_the_packaged_files_are_where_they_are_looked_for():
    names = {"base.toml", "escape", "pictures.toml", "prepare.sh", "probe.sh", "seccomp.json"}
    assert {path.name for path in sandbox_dir().iterdir()} == names
    assert dockerfile().is_file()
    assert profiles_dir().parent == data_dir()
