# class: gateway
# tries: hold every place at the gateway and knock without end
# must: the door is shut, or others are served meanwhile
# ends: done
local $SIG{PIPE} = "IGNORE";
my @held; my $knocks = 0; my $end = time + 2;
while (time < $end) {
    socket(my $door, AF_UNIX, SOCK_STREAM, 0);
    connect($door, sockaddr_un("/run/gateway/api.sock")) or last;
    $knocks++;
    syswrite($door, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Slow: ") if @held < 200;
    push @held, $door if @held < 200;
}
print "VOID no gateway\n" unless $knocks;
print "DONE\n";
