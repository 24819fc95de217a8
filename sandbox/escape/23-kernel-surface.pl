# class: kernel
# tries: reach the parts of a kernel that exploits like best
# must: every call is refused
# ends: done
void_elsewhere();
my %calls = (io_uring_setup => 425, io_uring_enter => 426, io_uring_register => 427, userfaultfd => 323, bpf => 321,
    perf_event_open => 298, kexec_load => 246, kexec_file_load => 320, init_module => 175, finit_module => 313,
    delete_module => 176, iopl => 172, ioperm => 173, modify_ldt => 154, personality => 135, acct => 163, swapon => 167,
    reboot => 169, syslog => 103, quotactl => 179, fanotify_init => 300, lookup_dcookie => 212, vmsplice => 278,
    move_pages => 279, migrate_pages => 256, mbind => 237, set_mempolicy => 238, remap_file_pages => 216, io_setup => 206,
    memfd_secret => 447, landlock => 444, seccomp => 317, nfsservctl => 180, uselib => 134, ustat => 136, sysfs => 139,
    vhangup => 153, settimeofday => 164, clock_settime => 227, adjtimex => 159, clock_adjtime => 305, sethostname => 170,
    setdomainname => 171, mknod => 133, mknodat => 259, shmget => 29, semget => 64, msgget => 68, mq_open => 240,
    open_by_handle_at => 304, setxattr => 188, futex_waitv => 449, cachestat => 451, map_shadow_stack => 453,
    lsm_set_self_attr => 460, mseal => 462, setpriority_of_all => 141);
delete $calls{setpriority_of_all};
refused($_, $calls{$_}, 0, 0, 0, 0, 0) for sort keys %calls;
print "DONE\n";
