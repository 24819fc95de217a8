# class: gateway
# tries: change the gateway's folder: take its socket away, put another in its place
# must: it stays as it is
# ends: done
chdir "/run/gateway";
unlink("api.sock") and out("took the socket away");
rename("api.sock", "old.sock") and out("moved the socket");
chmod(0777, "api.sock") and out("opened the socket to all");
open(my $file, ">", "x") and out("a file in the folder");
symlink("/tmp/x", "y") and out("a link in the folder");
socket(my $door, AF_UNIX, SOCK_STREAM, 0);
bind($door, sockaddr_un("/run/gateway/other.sock")) and out("a socket of its own in the folder");
print "DONE\n";
