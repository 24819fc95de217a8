# A Messages API that behaves as its caller's prompt says: "play 429,ok as x1" answers x1's first request with 429 and the
# others with a reply. GET /seen/x1 tells what came and when. One request per connection; a hung one is kept open and left alone.
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP;
use Time::HiRes 'time';

my $json = JSON::PP->new->canonical;
my %seen;    # name => requests
my @held;    # connections that get no more answer

$SIG{PIPE} = 'IGNORE';
$SIG{TERM} = sub { exit 0 };    # the first process of a container gets no default handler

my %status = (
    401 => ['authentication_error', 'invalid x-api-key'],
    429 => ['rate_limit_error',     'you have sent too many requests'],
    500 => ['api_error',            'internal server error'],
    529 => ['overloaded_error',     'Overloaded'],
);

my $door = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 64, ReuseAddr => 1)
    or die "cannot listen on port $ARGV[0]: $!\n";
while (1) {
    my $peer = $door->accept or next;
    my ($method, $path, $headers, $body) = receive($peer) or next;
    if ($method eq 'GET' && $path =~ m{^/seen/(\w+)$}) {
        plain($peer, 200, $json->encode($seen{$1} || []));
    } elsif ($path eq '/v1/messages') {
        play($peer, $headers, $body);
    } else {
        plain($peer, 404, '{}');
    }
}

sub receive {
    my ($peer) = @_;
    my $head = '';
    while ($head !~ /\r\n\r\n\z/) {
        sysread($peer, my $byte, 1) or return;
        $head .= $byte;
    }
    my ($first, @lines) = split /\r\n/, $head;
    my %headers = map { /^([^:]+):\s*(.*)$/ ? (lc $1 => $2) : () } @lines;
    my $body = '';
    while (length $body < ($headers{'content-length'} || 0)) {
        sysread($peer, $body, $headers{'content-length'} - length $body, length $body) or return;
    }
    my ($method, $path) = split / /, $first;
    return ($method, $path, \%headers, $body);
}

sub play {
    my ($peer, $headers, $body) = @_;
    my ($actions, $name) = $body =~ /play ([a-z0-9,]+) as (\w+)/ or return plain($peer, 400, '{}');
    my @actions = split /,/, $actions;
    push @{$seen{$name}}, {at => time, headers => $headers, body => $body};
    my $turn   = @{$seen{$name}};
    my $action = $actions[$turn <= @actions ? $turn - 1 : -1];
    if ($status{$action}) {
        # An upstream that repeats the key it was sent; nobody may see it.
        my ($kind, $said) = @{$status{$action}};
        my $error = {type => 'error', error => {type => $kind, message => "$said ($headers->{'x-api-key'})"}};
        plain($peer, $action, $json->encode($error), $action == 429 ? "retry-after: 1\r\n" : '');
    } elsif ($action eq 'hang') {
        push @held, $peer;
    } else {
        stream($peer, $action, $name);
    }
}

sub plain {
    my ($peer, $status, $body, $more) = @_;
    my $length = length $body;
    print $peer "HTTP/1.1 $status X\r\ncontent-type: application/json\r\ncontent-length: $length\r\nconnection: close\r\n",
        $more || '', "\r\n", $body;
}

sub stream {
    my ($peer, $action, $name) = @_;
    print $peer "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    return if $action eq 'early';
    my @events = reply($action, $name);
    splice @events, 3 if $action eq 'cut' || $action eq 'stall';
    chunk($peer, "event: $_->{type}\ndata: " . $json->encode($_) . "\n\n") for @events;
    if ($action eq 'stall') {
        $peer->flush;
        push @held, $peer;
    } elsif ($action ne 'cut') {
        print $peer "0\r\n\r\n";
    }
}

sub chunk {
    my ($peer, $text) = @_;
    printf $peer "%x\r\n%s\r\n", length $text, $text;
}

sub reply {
    my ($action, $name) = @_;
    my $usage   = {input_tokens => 10, output_tokens => 5};
    my $message = {
        id => 'msg_double', type => 'message', role => 'assistant', model => 'double', content => [],
        stop_reason => undef, stop_sequence => undef, usage => $usage,
    };
    my ($block, $delta, $stop) = ({type => 'text', text => ''}, {type => 'text_delta', text => "the answer to $name"}, 'end_turn');
    if ($action eq 'write') {
        $block = {type => 'tool_use', id => 'toolu_double', name => 'mcp__runner__Write', input => {}};
        my $input = $json->encode({file_path => "$name.txt", content => 'written'});
        ($delta, $stop) = ({type => 'input_json_delta', partial_json => $input}, 'tool_use');
    }
    return (
        {type => 'message_start',       message => $message},
        {type => 'content_block_start', index   => 0, content_block => $block},
        {type => 'content_block_delta', index   => 0, delta         => $delta},
        {type => 'content_block_stop',  index   => 0},
        {type => 'message_delta', delta => {stop_reason => $stop, stop_sequence => undef}, usage => $usage},
        {type => 'message_stop'},
    );
}
