# Before every script that speaks the agent's protocol: says what a CLI says at its start, then waits to be asked.
use strict; no warnings;
$| = 1;
my $line = <STDIN>;
my ($id) = $line =~ /"request_id":\s*"([^"]+)"/;
print qq({"type":"control_response","response":{"subtype":"success","request_id":"$id","response":{"commands":[],"hook_on_failure_supported":true,"hooks_applied":true}}}\n);
$line = <STDIN>;
$SIG{PIPE} = sub { exit 0 };
sub ask { my ($number, $what) = @_; qq({"type":"control_request","request_id":"q$number","request":$what}\n) }
sub hook { my ($number, $input) = @_; ask($number, qq({"subtype":"hook_callback","callback_id":"hook_0","tool_use_id":"t$number","input":{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":$input}})) }
