# class: namespaces
# tries: get a namespace of its own, or into the host's
# must: every call is refused
# ends: done
void_elsewhere();
for my $flag (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80) {
    refused(sprintf("unshare %x", $flag), 272, $flag);
    next if $flag == 0x80;
    refused(sprintf("clone %x", $flag), 56, $flag | 17, 0, 0, 0, 0);
}
refused("clone3", 435, "\0" x 88, 88);
for my $name (qw(cgroup ipc mnt net pid user uts time)) {
    open(my $space, "<", "/proc/1/ns/$name") or next;
    refused("setns $name", 308, fileno($space), 0);
}
print "DONE\n";
