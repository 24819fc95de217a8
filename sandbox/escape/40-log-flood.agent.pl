# class: stdio
# tries: fill a log through stderr
# must: nothing is kept of it but its tail
# ends: cut
my $piece = "log line of no use\n" x 4000;
while (1) { print STDERR $piece or last }
