# class: procfs
# tries: write the kernel's settings under /proc/sys
# must: every write is refused
# ends: done
for name in kernel/core_pattern kernel/hostname kernel/domainname kernel/modprobe kernel/panic kernel/randomize_va_space \
    kernel/yama/ptrace_scope kernel/unprivileged_userns_clone kernel/shmmax kernel/msgmax fs/suid_dumpable \
    fs/protected_symlinks fs/binfmt_misc/register vm/drop_caches vm/overcommit_memory vm/mmap_min_addr \
    net/ipv4/ip_forward net/ipv4/ping_group_range net/core/somaxconn user/max_user_namespaces; do
    [ -e "/proc/sys/$name" ] || continue
    read -r old <"/proc/sys/$name" || old=0
    (echo "$old" >"/proc/sys/$name") && out "wrote /proc/sys/$name"
done
echo DONE
