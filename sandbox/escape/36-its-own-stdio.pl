# class: stdio
# tries: abuse what it was given as stdin, stdout and stderr: type into a terminal, reopen, write upstream
# must: there is no terminal, and no handle leads further
# ends: done
for my $handle (*STDIN, *STDOUT, *STDERR) {
    my $byte = "x";
    ioctl($handle, 0x5412, $byte) and out("typed into a terminal");
    ioctl($handle, 0x541D, 0) and out("took the console");
    -t $handle and out("a terminal");
}
open(my $console, ">", "/dev/console") and out("opened the console");
open(my $tty, "+<", "/dev/tty") and out("opened a terminal");
for my $pid (1, $$) { for my $number (0 .. 9) {
    my $where = readlink("/proc/$pid/fd/$number") or next;
    out("handle $number leads to $where") if $where =~ m{^/(?!dev/null)};
} }
close(STDIN);
print "DONE\n";
