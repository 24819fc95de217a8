# Before every Perl script; see prelude.sh. Numbers of calls are x86_64's: elsewhere VOID says that nothing was tried.
use strict; no warnings; use Socket;
our ($abstract, $port, $outside, $process, $model) = @ARGV;
$| = 1;
my $machine = `uname -m`;
sub out { print "OUT @_\n" }
sub void_elsewhere { if ($machine !~ /^x86_64/) { print "VOID not x86_64\nDONE\n"; exit 0 } }
# A call that may not even be looked at: refused as not permitted, or as not there.
sub refused { my ($name, @call) = @_; $! = 0; my $answer = syscall($call[0], @call[1 .. $#call]);
    out("$name gave $answer, errno " . ($! + 0)) if $answer != -1 || ($! != 1 && $! != 38) }
