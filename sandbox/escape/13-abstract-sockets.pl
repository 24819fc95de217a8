# class: sockets
# tries: connect to sockets of the host that have no path
# must: their names belong to another network namespace
# ends: done
my @names = ($abstract, "/containerd-shim/x", "docker", "/tmp/.X11-unix/X0", "dbus");
open(my $list, "<", "/proc/net/unix");
while (<$list>) { push @names, $1 if /@(\S+)/ }
for my $name (@names) {
    for my $kind (SOCK_STREAM, SOCK_DGRAM, 5) {
        socket(my $door, AF_UNIX, $kind, 0) or next;
        connect($door, pack_sockaddr_un("\0$name")) and out("connected to \@$name");
    }
}
print "DONE\n";
