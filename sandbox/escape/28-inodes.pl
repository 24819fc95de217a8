# class: exhaustion
# tries: make files, links and folders without end
# must: each place has its number
# ends: done
for my $place ("/tmp", $ENV{HOME}, "/dev/shm") {
    mkdir "$place/many"; my $count = 0;
    while ($count < 20000) { open(my $file, ">", "$place/many/$count") or last; $count++ }
    out("$count files in $place") if $count >= 20000 && $place ne "/dev/shm";
    unlink glob "$place/many/*";
}
print "DONE\n";
