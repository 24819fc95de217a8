# class: exhaustion
# tries: start processes without end
# must: it is stopped at its limit, and others are served meanwhile
# ends: done
my $count = 0;
while ($count < 5000) {
    my $child = fork();
    last unless defined $child;
    if ($child == 0) { sleep 3; exit 0 }
    $count++;
}
out("$count processes") if $count > 1000;
print "DONE\n";
exit 0;
