# class: gateway
# tries: send the gateway every odd request: other operations, other hosts, smuggled ones, other protocols
# must: none is forwarded and none is answered with a yes
# ends: done
my $body = '{"model":"x","max_tokens":1,"messages":[]}';
my $good = "Host: gateway\r\nContent-Type: application/json\r\n";
my @odd = ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /v1/files HTTP/1.1\r\n${good}Content-Length: 2\r\n\r\n{}",
    "POST /v1/messages/batches HTTP/1.1\r\n${good}Content-Length: 2\r\n\r\n{}", "GET /v1/models HTTP/1.1\r\n$good\r\n",
    "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", "GET http://169.254.169.254/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST http://evil.example/v1/messages HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
    "POST /v1/messages HTTP/1.1\r\n${good}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
    "POST /v1/messages HTTP/1.1\r\n${good}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}",
    "POST /v1/messages HTTP/1.1\r\n${good}Content-Length: -1\r\n\r\n{}", "POST /v1/messages HTTP/1.1\r\n${good}Content-Length: 99999999999999999999\r\n\r\n",
    "POST /v1/messages/../files HTTP/1.1\r\n${good}Content-Length: 2\r\n\r\n{}", "POST /v1/messages%2f..%2ffiles HTTP/1.1\r\n${good}Content-Length: 2\r\n\r\n{}",
    "POST /v1/messages HTTP/1.1\r\n${good}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    "POST /v1/messages HTTP/1.1\r\n${good}Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET /\r\n", "\0" x 4096, "A" x 100000,
    "POST /v1/messages HTTP/1.1\r\n$good" . "X: y\r\n" x 5000 . "\r\n", "POST /v1/messages HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}",
    "POST /v1/messages HTTP/1.1\r\n${good}Content-Length: " . length($body) . "\r\n\r\n$body",
    "POST /v1/messages?beta=true&x=http://evil HTTP/1.1\r\n${good}Content-Length: 2\r\n\r\n[]", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "TRACE /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n", "DELETE /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n");
my $answered = 0;
for my $request (@odd) {
    socket(my $door, AF_UNIX, SOCK_STREAM, 0);
    unless (connect($door, sockaddr_un("/run/gateway/api.sock"))) { print "VOID no gateway\n"; last }
    local $SIG{PIPE} = "IGNORE"; local $SIG{ALRM} = sub { };
    syswrite($door, $request); shutdown($door, 1);
    my $answer = ""; alarm 3; sysread($door, $answer, 4096); alarm 0;
    $answered++ if length $answer;
    out("answered: " . substr($request, 0, 60)) if $answer =~ m{^HTTP/1\.[01] [123]};
}
print "VOID nothing was answered\n" unless $answered;
print "DONE\n";
