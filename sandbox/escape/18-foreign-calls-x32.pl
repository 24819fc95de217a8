# class: foreign calls
# tries: make calls under the numbers of the x32 kind, which lists forget (cosai-oasis/ws4#167)
# must: each is refused or kills its process
# ends: done
void_elsewhere();
for my $number (39, 41, 101, 165, 272, 308, 321, 425, 513, 520, 521) {
    my $child = fork();
    if ($child == 0) { $! = 0; my $answer = syscall(0x40000000 | $number, 0, 0, 0, 0, 0, 0); exit($answer >= 0 ? 7 : 0) }
    waitpid($child, 0);
    out("x32 call $number was carried out") if $? >> 8 == 7;
}
print "DONE\n";
