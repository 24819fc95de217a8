# class: stdio
# tries: say one byte at a time, on both outputs
# must: pieces are counted like lines, then it is killed
# ends: cut
while (1) { syswrite(STDERR, "x") or last; syswrite(STDOUT, " ") or last; select(undef, undef, undef, 0.0002) }
