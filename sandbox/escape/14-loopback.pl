# class: network
# tries: reach the host over TCP and UDP: loopback, bridge, metadata service
# must: no socket of that family can be made
# ends: done
for my $address ("127.0.0.1", "172.17.0.1", "169.254.169.254", "192.0.2.1", "0.0.0.0") {
    for my $kind (SOCK_STREAM, SOCK_DGRAM) {
        socket(my $door, AF_INET, $kind, 0) or next;
        out("a socket for the internet");
        connect($door, pack_sockaddr_in($port, inet_aton($address))) and $kind == SOCK_STREAM and out("connected to $address");
    }
}
print "DONE\n";
