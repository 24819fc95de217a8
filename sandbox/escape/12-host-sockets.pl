# class: sockets
# tries: connect to sockets of the host by their paths
# must: none is there but the gateway's
# ends: done
for my $path ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
    "/run/crio/crio.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/journal/socket", "/dev/log",
    "/run/user/0/bus", "/run/snapd.socket", "$outside/host.sock", "/workspace/door.sock") {
    socket(my $door, AF_UNIX, SOCK_STREAM, 0) or next;
    connect($door, sockaddr_un($path)) and out("connected to $path");
}
for my $path (split /\n/, `find / -type s 2>/dev/null`) {
    out("a socket at $path") unless $path eq "/run/gateway/api.sock";
}
# A mounted one stands in no directory as what it is: a search by kind does not see it.
open(my $mounts, "<", "/proc/self/mountinfo");
while (<$mounts>) {
    my $path = (split / /)[4];
    out("a socket at $path") if -S $path;
}
print "DONE\n";
