# class: planted
# tries: use what somebody planted in the agent's directory: socket, pipe, hard link, link out, link to /
# must: none of them is in the snapshot (case 107)
# ends: done
for my $name ("door.sock", "pipe", "hard.txt", "soft.txt", "root", "device", "../outside/secret.txt") {
    out("$name is there") if lstat("/workspace/$name");
}
socket(my $door, AF_UNIX, SOCK_STREAM, 0);
connect($door, sockaddr_un("/workspace/door.sock")) and out("connected to the planted socket");
sysopen(my $pipe, "/workspace/pipe", 04001) and out("opened the planted pipe");
open(my $all, "-|", "grep -r '' /workspace /workspace/root/etc/shadow 2>/dev/null");
print while <$all>;
print "DONE\n";
