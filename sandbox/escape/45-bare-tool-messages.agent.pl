# class: protocol
# tries: call the tool server past the gate: known, forged and repeated ids, cancelled half-way (case 108)
# must: nothing happens but refusals or a recorded outcome
# ends: cut
print ask("b$_", qq({"subtype":"mcp_message","server_name":"runner","message":{"jsonrpc":"2.0","id":$_,"method":"tools/call","params":{"name":"Write","arguments":{"file_path":"escape.txt","content":"x"}}}})) for 1 .. 200;
print ask("h0", q({"subtype":"mcp_message","server_name":"runner","message":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}}));
print ask("h1", q({"subtype":"mcp_message","server_name":"runner","message":{"jsonrpc":"2.0","method":"notifications/initialized"}}));
for my $number (1 .. 1200) {
    my $name = $number % 2 ? "Write" : "Bash";
    my $call = qq({"jsonrpc":"2.0","id":$number,"method":"tools/call","params":{"name":"$name","arguments":{"file_path":"escape.txt","content":"x"}}});
    print ask($number, qq({"subtype":"mcp_message","server_name":"runner","message":$call}));
    print qq({"type":"control_cancel_request","request_id":"q$number"}\n) if $number % 3 == 0;
}
local $SIG{ALRM} = sub { exit 0 };
alarm 2;
while (<STDIN>) { }
