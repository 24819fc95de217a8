# class: exhaustion
# tries: take all memory there is
# must: the kernel ends it, and nothing else
# ends: killed
my @pieces;
push @pieces, "x" x (16 * 1024 * 1024) for 1 .. 200;
out("took " . 16 * @pieces . " MB");
