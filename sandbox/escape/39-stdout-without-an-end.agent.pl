# class: stdio
# tries: say one line on stdout that never ends
# must: it is cut off and killed; the supervisor keeps none of it
# ends: cut
my $piece = "x" x 65536;
while (1) { print $piece or last }
