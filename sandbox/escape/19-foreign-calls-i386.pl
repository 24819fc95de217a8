# class: foreign calls
# tries: run a 32-bit program from memory: other numbers for the same calls
# must: it is killed at its first call
# ends: done
void_elsewhere();
# Asks for its pid, and ends with 7 if it was told.
my $code = pack("H*", "b814000000cd80b801000000bb07000000cd80");
my $head = pack("H*", "7f454c46010101000000000000000000020003000100000054800408340000000000000000000000340020000100000000000000");
my $size = pack("V", 84 + length $code);
my $segment = pack("H*", "01000000000000000080040800800408") . $size . $size . pack("H*", "0500000000100000");
my $name = "old";
my $memory = syscall(319, $name, 0);
if ($memory >= 0) {
    open(my $file, ">&=", $memory); binmode $file; syswrite($file, $head . $segment . $code);
    my $child = fork();
    if ($child == 0) { exec { "/proc/self/fd/$memory" } "old"; exit 1 }
    waitpid($child, 0);
    out("a 32-bit call was carried out") if $? >> 8 == 7;
}
# The same entry from 64-bit code.
my $mixed = pack("H*", "b814000000cd80" . "bf07000000b83c0000000f05");
my $elf = pack("H*", "7f454c4602010100000000000000000002003e0001000000") . pack("Q<", 0x400078) . pack("Q<", 64) . pack("Q<", 0)
    . pack("V", 0) . pack("v6", 64, 56, 1, 64, 0, 0) . pack("VV", 1, 5) . pack("Q<", 0) . pack("Q<", 0x400000) . pack("Q<", 0x400000)
    . pack("Q<", 120 + length $mixed) . pack("Q<", 120 + length $mixed) . pack("Q<", 0x1000) . $mixed;
my $second = syscall(319, $name, 0);
if ($second >= 0) {
    open(my $file, ">&=", $second); binmode $file; syswrite($file, $elf);
    my $child = fork();
    if ($child == 0) { exec { "/proc/self/fd/$second" } "mixed"; exit 1 }
    waitpid($child, 0);
    out("a 32-bit call out of 64-bit code was carried out") if $? >> 8 == 7;
}
print "DONE\n";
