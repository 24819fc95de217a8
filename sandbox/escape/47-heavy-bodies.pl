# class: gateway
# tries: send valid requests of a great size, written to be slow to read, several at once
# must: each is answered, refused or left, others are served meanwhile, and memory has an end
# ends: done
# may: ask the model
my $end = time + 6;
local $SIG{PIPE} = "IGNORE"; local $SIG{ALRM} = sub { };
my ($ask, $count) = ("/v1/messages?beta=true", "/v1/messages/count_tokens?beta=true");
my @result = ('{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"', '"}]}');
my @text = ('{"role":"user","content":"', '"}');
my @heavy = ([$ask, 12, "<", " ", @result], [$ask, 4, "< ", "< ", @result], [$ask, 4, "</", "/", @result],
    [$ask, 4, "<a", "\\u003c", @result], [$ask, 4, "<system-", "reminder<system-", @result],
    [$count, 30, "x", "x", @text], [$count, 4, "x", '"},{"role":"user","content":"', @text], [$count, 30, "<", " ", @text]);
sub ask { my ($target, $size, $first, $more, $before, $after) = @_;
    socket(my $door, AF_UNIX, SOCK_STREAM, 0); connect($door, sockaddr_un("/run/gateway/api.sock")) or return;
    my $open = qq({"model":"$model","max_tokens":1,"messages":[$before$first);
    my $times = int($size * 1024 * 1024 / length($more)); $times = 100_000 if $more =~ /role/;
    my $length = length($open) + $times * length($more) + length("$after]}");
    my $say = sub { my $at = 0; alarm 2; while ($at < length $_[0]) { $at += syswrite($door, $_[0], 65536, $at) || return 0 } 1 };
    $say->("POST $target HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: $length\r\n\r\n$open") or return $door;
    my $each = int(65536 / length($more)); my $piece = $more x $each;
    for (; $times >= $each; $times -= $each) { $say->($piece) or return $door }
    $say->(($more x $times) . "$after]}"); $door }
my ($asked, $answered) = (0, 0);
for my $heavy (@heavy) {
    my $door = ask(@$heavy) or last; $asked++;
    my $answer = ""; alarm 2; sysread($door, $answer, 4096); alarm 0;
    $answered++ if $answer =~ m{^HTTP/1\.1 };
    last if time >= $end - 3;
}
my @children = map { my $heavy = $_; my $child = fork(); unless ($child) { ask(@$heavy); sleep 3; exit } $child } (@heavy) x 3;
1 while wait() > 0 && time < $end;
kill KILL => @children;
print "VOID no gateway\n" unless $asked;
print "VOID nothing was answered\n" if $asked && !$answered;
print "DONE\n";
