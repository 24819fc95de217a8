# class: protocol
# tries: ask about fifty thousand calls at once
# must: some hundreds are heard, then it is killed
# ends: cut
$| = 0;
for my $number (1 .. 50000) { print hook($number, '{"file_path":"/workspace/in.txt"}') or last }
$| = 1; sleep 30;
