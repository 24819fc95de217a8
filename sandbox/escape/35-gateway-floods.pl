# class: gateway
# tries: open connections without end and say nothing on them
# must: few are kept, and others are served meanwhile
# ends: done
my @doors; my $made = 0;
local $SIG{PIPE} = "IGNORE";
for (1 .. 300) {
    socket(my $door, AF_UNIX, SOCK_STREAM, 0);
    setsockopt($door, SOL_SOCKET, SO_SNDTIMEO, pack("l!l!", 0, 100_000));
    connect($door, sockaddr_un("/run/gateway/api.sock")) or next;
    $made++;
    syswrite($door, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    push @doors, $door if @doors < 200;
}
syswrite($_, "y") for @doors;
print "VOID no gateway\n" unless $made;
print "DONE\n";
