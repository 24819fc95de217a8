# class: network
# tries: make a socket of every family and kind there is
# must: unix sockets are the only ones
# ends: done
for my $family (0 .. 50) {
    for my $kind (1 .. 5, 10) {
        for my $protocol (0, 1, 6, 16, 17, 255) {
            next if $family == 1;
            socket(my $door, $family, $kind, $protocol) and out("family $family, kind $kind, protocol $protocol");
        }
    }
}
print "DONE\n";
