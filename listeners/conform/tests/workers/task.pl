#!/usr/bin/perl
# A worker for the tasks of schemas/conform.xsd in Perl, with XML::LibXML and CryptX alone: no client of NATS.
#
# With SYSTOLE_NATS it works over a broker, as docs/over-nats.md says, else on stdin and stdout. Each delivery has a
# process of its own, which says what it wants over a pipe; this one renews, sends and sends again.
use strict;
use warnings;
use Crypt::PK::Ed25519;
use Digest::SHA qw(sha256_hex);
use IO::Socket::INET;
use MIME::Base64 qw(encode_base64url);
use POSIX qw(:sys_wait_h _exit);
use Time::HiRes qw(time sleep);
use Socket;
use XML::LibXML;

my $LISTENER = 'urn:systole:listener:v1';
my $ENVELOPE = 'https://xml-pipeline.org/ns/envelope/v1';
my $CORE = 'https://xml-pipeline.org/ns/core/v1';
my $TASK = 'https://xml-pipeline.org/ns/conform/v1';
my $XPC = XML::LibXML::XPathContext->new;
$XPC->registerNs(l => $LISTENER); $XPC->registerNs(e => $ENVELOPE); $XPC->registerNs(c => $CORE);
$XPC->registerNs(t => $TASK); $XPC->registerNs(s => 'urn:systole:stamp:v1');
my $PARSER = XML::LibXML->new(no_network => 1, expand_entities => 0, huge => 1);
my ($TERMS, $ENDS, %work, %done) = (0, undef);      # Signals; when it ends at the latest; work by delivery.
my $MOST = 8 << 20;
$SIG{TERM} = sub { $TERMS++ };
$SIG{PIPE} = 'IGNORE';

sub escaped {      # A text as content or value, in bytes.
    my ($text) = @_;
    die "the text has a character that XML does not allow\n" if $text =~ /[^\t\n\r\x20-\x{d7ff}\x{e000}-\x{fffd}\x{10000}-\x{10ffff}]/;
    my %as = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', "\n" => '&#10;', "\r" => '&#13;', "\t" => '&#9;');
    $text =~ s/([&<>"\n\r\t])/$as{$1}/g;
    utf8::encode($text);
    return $text;
}

sub parsed {
    my $document = $PARSER->load_xml(string => $_[0]);
    die "a DOCTYPE is refused\n" if $document->internalSubset;
    return $document->documentElement;
}

sub own_text { return join '', map { $_->data } grep { $_->nodeType == XML_TEXT_NODE || $_->nodeType == XML_CDATA_SECTION_NODE } $_[0]->childNodes }

# ---- The work, in a process of its own -------------------------------------------------------------------------------

our %turn;
my ($UP, $number);      # The pipe to the other process, the delivery, the questions so far.

sub say_up { my ($kind, $document) = @_; syswrite_all($UP, "$kind " . length($document) . "\n$document") }

sub syswrite_all {
    my ($handle, $bytes) = @_;
    while (length $bytes) { my $wrote = syswrite $handle, $bytes; _exit(1) if !defined $wrote && !$!{EINTR}; substr($bytes, 0, $wrote // 0) = '' }
}

sub heard {      # What the other process answers.
    my ($head, $bytes) = ('', '');
    while ($head !~ /\n/) { sysread($UP, $head, 1, length $head) || _exit(1) }
    while (length $bytes < $head) { sysread($UP, $bytes, $head - length $bytes, length $bytes) || _exit(1) }
    return parsed($bytes);
}

sub document { my ($name, $inside, $more) = @_; return "<$name xmlns=\"$LISTENER\" delivery=\"" . escaped($turn{delivery}) . "\"" . ($more // '') . ">$inside</$name>" }

sub ask {
    my ($name, $inside, $more) = @_;
    $number++;
    say_up(A => document($name, $inside, " id=\"$number\"" . ($more // '')));
    my $answer = heard();
    my ($refusal) = $XPC->findnodes('c:system-error', $answer);
    die { code => $refusal->getAttribute('code'), words => $refusal->getAttribute('message') } if $refusal;
    return ($answer, $number);
}

sub done {
    my ($text, $n) = @_;
    my $stamp = join ' ', map { "$_=\"" . escaped($turn{$_}) . '"' } qw(key attempt turn sender);
    return "<done xmlns=\"$TASK\" $stamp" . (defined $n ? " n=\"$n\"" : '') . '>' . escaped($text) . '</done>';
}

sub view {
    my ($start, @messages) = (0);
    while (defined $start) {
        my ($view) = $XPC->findnodes('l:view', (ask('ask', "<view from-seq=\"$start\"/>"))[0]);
        push @messages, $XPC->findnodes('l:message/*', $view);
        $start = $view->getAttribute('next');
    }
    return @messages;
}

sub blob {
    my ($text, $hex) = @_;
    my $data = $hex ? pack('H*', $text) : $text;
    utf8::encode($data) unless $hex;
    my $inside = $hex ? '<put-blob encoding="hex">' . unpack('H*', $data) . '</put-blob>' : '<put-blob>' . escaped($text) . '</put-blob>';
    my $hash = $XPC->findvalue('l:blob/@hash', (ask('ask', $inside))[0]);
    my ($read, $start) = ('', 0);
    while (defined $start) {
        my ($page) = $XPC->findnodes('l:blob', (ask('ask', "<blob hash=\"$hash\" from=\"$start\"/>"))[0]);
        my $part = own_text($page);
        if (($page->getAttribute('encoding') // '') eq 'hex') { $part = pack('H*', $part) } else { utf8::encode($part) }
        $read .= $part;
        $start = $page->getAttribute('next');
    }
    my $n = length $read;
    if ($hex) { $read = unpack('H*', $read) } else { utf8::decode($read) }
    return done("$hash $read", $n);
}

sub once {
    my ($text) = @_;
    my $bytes = $text; utf8::encode($bytes);
    my $prompt = sha256_hex($bytes);
    if ($turn{journal}) {
        my ($entries) = $XPC->findnodes('l:entries', (ask('ask', '<journal/>'))[0]);
        for my $start ($XPC->findnodes("l:journal[\@prompt='$prompt']", $entries)) {
            my $id = $start->getAttribute('id');
            my ($result) = $XPC->findnodes("l:journal[\@of='$id']", $entries);
            return own_text($result) if $result;
        }
    }
    my (undef, $start) = ask('journal', '', " kind=\"model-started\" model=\"work\" prompt=\"$prompt\"");
    ask('journal', escaped($text), " kind=\"model-result\" of=\"$start\" stop=\"end\"");
    return $text;
}

sub answers {
    my ($payload) = @_;
    my @texts = map { own_text($_) } (view())[0], $XPC->findnodes('c:item/t:done', $payload);
    return done(join ' ', @texts);
}

sub work {
    my ($payload) = @_;
    my ($ns, $name) = ($payload->namespaceURI // '', $payload->localname);
    return answers($payload) if $ns eq $CORE && $name eq 'answers' && $turn{turn} ne '1';
    die { code => 'worker.unknown', words => "it takes <task> alone, not <$name>" } if $ns ne $TASK || $name ne 'task';
    my ($do, $n, $code, $text) = ($payload->getAttribute('do') // 'echo', $payload->getAttribute('n'), $payload->getAttribute('code') // '', own_text($payload));
    return done($code . $text) if $do eq 'echo';
    return blob($text, $code eq 'hex') if $do eq 'blob';
    return done(once($text)) if $do eq 'once';
    return done('x' x $n) if $do eq 'large';
    return done("\x01") if $do eq 'bad';
    return '' if $do eq 'silent';
    die { code => $code, words => $text, retry => ($n // '') eq '1' } if $do eq 'fail';
    die "$text\n" if $do eq 'throw';
    return '<again code="' . escaped($code) . '">' . escaped($text) . '</again>' if $do eq 'again';
    if ($do eq 'call') {
        return join '', map { "<message xmlns=\"$ENVELOPE\"><meta><to>peer</to></meta><task xmlns=\"$TASK\" do=\"echo\">" . escaped("$text-$_") . '</task></message>' } 0 .. $n - 1;
    }
    if ($do eq 'many') {
        return join('', map { "<remark xmlns=\"$TASK\" n=\"$_\">" . escaped($text) . '</remark>' } 0 .. $n - 1) . done($text);
    }
    if ($do eq 'view') {
        my $all = join "\n", my @texts = map { own_text($_) } view();
        utf8::encode($all);
        return done(sha256_hex($all), scalar @texts);
    }
    if ($do eq 'sleep' || $do eq 'hang') { sleep(defined $n ? $n / 1000 : 1_000_000) }
    elsif ($do eq 'exit') { _exit($n) }
    elsif ($do eq 'print') { print $text }
    elsif ($do eq 'stderr') { syswrite_all(\*STDERR, 'x' x $n) }
    elsif ($do eq 'progress') { say_up(P => document('progress', escaped($text))) }
    elsif ($do eq 'notice') { say_up(N => document('notice', escaped($text), ' code="' . escaped($code) . '"')); heard() if $ENV{SYSTOLE_NATS} }
    return done($text);
}

sub failure {
    my ($code, $words, $retry) = @_;
    $words =~ s/[^\t\n\x20-\x{d7ff}\x{e000}-\x{fffd}]/?/g;
    return '<failure code="' . escaped($code) . '"' . ($retry ? ' retry="true"' : '') . '>' . escaped($words) . '</failure>';
}

sub child {      # The whole life of a delivery's process.
    my ($message, $most) = @_;
    $SIG{TERM} = 'IGNORE';      # It reaches the whole process group; what is at work is finished.
    my $inside = eval { work(($XPC->findnodes('*[not(self::e:meta)]', $message))[0]) };
    if (my $error = $@) { $inside = ref $error ? failure(@$error{qw(code words retry)}) : failure('listener.error', $error) }
    my $reply = document('reply', $inside);
    $reply = document('reply', failure('reply.too-large', length($reply) . " bytes, $most at most")) if length $reply > $most;
    say_up(R => $reply);
    _exit(0);
}

# ---- Both carriers: a process for each delivery ------------------------------------------------------------------------

sub begin {      # Starts the work on a delivery; undef if the message is none.
    my ($message, $carrier, %more) = @_;
    my ($stamp) = $XPC->findnodes('e:meta/s:stamp', $message) or return;
    my $delivery = $stamp->getAttribute('delivery');
    return if $work{$delivery} && !%more;
    socketpair(my $mine, my $its, AF_UNIX, SOCK_STREAM, 0) or die "no pipe: $!";
    my $pid = fork // die "no process: $!";
    if (!$pid) {
        $UP = $its;
        close $mine;
        close $_->{pipe} for values %work;
        %turn = (map({ $_ => $stamp->getAttribute($_) } qw(delivery key attempt turn journal)), sender => $XPC->findvalue('e:meta/e:from', $message));
        child($message, $carrier->{most}->());
    }
    close $its;
    return $work{$more{ack} // $delivery} = { delivery => $delivery, pid => $pid, pipe => $mine, buffer => '', carrier => $carrier, renew => 0, %more };
}

sub forget {      # The work on a delivery is over, or no longer wanted.
    my ($key) = @_;
    my $one = delete $work{$key} or return;
    kill KILL => $one->{pid};
    waitpid $one->{pid}, 0;
    close $one->{pipe};
}

sub read_pipe {      # What the process of a delivery says.
    my ($key, $one) = @_;
    my $got = sysread $one->{pipe}, $one->{buffer}, 1 << 16, length $one->{buffer};
    while ($work{$key} && $one->{buffer} =~ /^([A-Z]) (\d+)\n/ && length $one->{buffer} >= $+[0] + $2) {
        my ($kind, $document) = ($1, substr $one->{buffer}, $+[0], $2);
        substr($one->{buffer}, 0, $+[0] + $2) = '';
        $one->{carrier}{said}->($key, $one, $kind, $document);
    }
    return if $got || $one->{replied} || !$work{$key};
    $one->{replied} = 1;
    local %turn = (delivery => $one->{delivery});
    $one->{carrier}{said}->($key, $one, R => document('reply', failure('listener.error', 'the process of the delivery ended')));
}

sub give { my ($one, $document) = @_; syswrite_all($one->{pipe}, length($document) . "\n$document") }

sub wait_some {      # Waits for input, at most a tenth of a second, and lets the processes of deliveries say what they have.
    my ($input) = @_;
    my ($bits, %pipes) = ('');
    vec($bits, fileno $input, 1) = 1 if $input;
    for my $key (keys %work) { next if $work{$key}{replied}; vec($bits, fileno $work{$key}{pipe}, 1) = 1; $pipes{$key} = $work{$key} }
    return 0 if select(my $ready = $bits, undef, undef, 0.1) < 1;      # A signal ends it too.
    vec($ready, fileno $pipes{$_}{pipe}, 1) && read_pipe($_, $pipes{$_}) for keys %pipes;
    return $input && vec($ready, fileno $input, 1);
}

# ---- Over stdin ---------------------------------------------------------------------------------------------------------

sub serve_pipe {
    open my $out, '>&', \*STDOUT or die $!;
    open STDOUT, '>&', \*STDERR or die $!;      # Whatever prints does not spoil a document.
    my ($by_length, $held, $open, %asked) = (undef, '', 1);
    my $send = sub { syswrite_all($out, $by_length ? length($_[0]) . "\n$_[0]\n" : "$_[0]\n") };
    my $carrier = { most => sub { $MOST }, said => sub {
        my ($key, $one, $kind, $document) = @_;
        $send->($document);
        forget($key) if $kind eq 'R';
    } };
    my $hear = sub {
        my $root = eval { parsed($_[0]) } or return warn "it cannot read: $@";
        my ($ns, $name, $delivery) = ($root->namespaceURI // '', $root->localname, $root->getAttribute('delivery') // '');
        if ($ns eq $ENVELOPE && $name eq 'message') { begin($root, $carrier) if !$TERMS }
        elsif ($ns ne $LISTENER) { warn "it does not know <$name> of $ns\n" }
        elsif ($name eq 'answer') { give($work{$delivery}, $_[0]) if $work{$delivery} }
        elsif ($name eq 'cancel' && $work{$delivery}) {
            forget($delivery);
            local %turn = (delivery => $delivery);
            $send->(document('reply', failure('listener.cancelled', 'it was called back')));
        }
    };
    while ($open || %work) {
        _exit(1) if $TERMS > 1 || ($ENDS && time > $ENDS);
        $ENDS //= time + 30 if $TERMS;
        last if $TERMS && !%work;
        wait_some($open ? \*STDIN : undef) or next;
        $open = sysread STDIN, $held, 1 << 16, length $held;
        while (1) {
            $held =~ s/^\s+// unless $by_length;
            $by_length //= $held =~ /^\d/ ? 1 : 0 if length $held;
            if ($by_length) {
                $held =~ s/^\n+//;
                last unless $held =~ /^(\d+)\n/ && length $held >= $+[0] + $1;
                my ($start, $length) = ($+[0], $1);
                $hear->(substr $held, $start, $length);
                substr($held, 0, $start + $length) = '';
            }
            else { $held =~ s/^(.*)\n// or last; $hear->($1) if length $1 }
        }
        $ENDS = time + 9 if !$open;
    }
    _exit(0);
}

# ---- Over NATS ----------------------------------------------------------------------------------------------------------

sub base32 {
    my %values; @values{'A' .. 'Z', 2 .. 7} = 0 .. 31;
    return pack 'B*', substr join('', map { sprintf '%05b', $values{$_} } split //, $_[0]), 0, 8 * int(length($_[0]) * 5 / 8);
}

sub to_base32 {
    my @letters = ('A' .. 'Z', 2 .. 7);
    my $bits = unpack 'B*', $_[0];
    $bits .= '0' x (-length($bits) % 5);
    return join '', map { $letters[oct "0b$_"] } $bits =~ /(.{5})/g;
}

sub crc16 {
    my $crc = 0;
    for my $byte (unpack 'C*', $_[0]) { $crc ^= $byte << 8; $crc = ($crc & 0x8000 ? ($crc << 1) ^ 0x1021 : $crc << 1) & 0xffff for 1 .. 8 }
    return $crc;
}

sub serve_nats {
    (my $organism = $ENV{SYSTOLE_ORGANISM}) =~ tr/./_/;
    (my $name = $ENV{SYSTOLE_LISTENER}) =~ tr/./_/;
    my ($host, $port) = $ENV{SYSTOLE_NATS} =~ m{//(.*):(\d+)};
    my $key;
    if ($ENV{SYSTOLE_KEY_FILE}) {
        open my $file, '<', $ENV{SYSTOLE_KEY_FILE} or die "$ENV{SYSTOLE_KEY_FILE}: $!";
        my ($seed) = <$file> =~ /^(\w+)/;
        $key = Crypt::PK::Ed25519->new->import_key_raw(substr(base32($seed), 2, 32), 'private');
    }
    my ($slots, $id) = ($ENV{SYSTOLE_SLOTS} || 4, join '', map { ('a' .. 'z')[rand 26] } 1 .. 12);
    my ($socket, $held, $max, $tried, $requests, @slots) = (undef, '', 1 << 20, 0, 0, map { { state => 'idle', at => 0, inbox => "_INBOX_$name.$id.s$_" } } 1 .. $slots);
    my (%waiting, %forgotten);
    my $lost = sub { $socket = undef; $held = ''; $_->{state} eq 'pulling' and @$_{qw(state at)} = ('idle', 0) for @slots };
    my $write = sub {
        my ($bytes) = @_;
        while ($socket && length $bytes) { my $wrote = syswrite $socket, $bytes; if (defined $wrote) { substr($bytes, 0, $wrote) = '' } elsif (!$!{EINTR}) { $lost->() } }
    };
    my $publish = sub { my ($subject, $bytes, $reply) = @_; $write->("PUB $subject " . ($reply ? "$reply " : '') . length($bytes) . "\r\n$bytes\r\n") };
    # A document goes out again until it is answered, after a pause that grows.
    my $send_again = sub { my ($one) = @_; $one->{next} = time + 5 + $one->{pause}; $one->{pause} = $one->{pause} * 2 > 5 ? 5 : $one->{pause} * 2; $publish->($one->{place}, $one->{request}, "_INBOX_$name.$id.r.$one->{number}") };
    my $said = sub {
        my ($key, $one, $kind, $document) = @_;
        return $publish->("o.$organism.live.$name", $document) if $kind eq 'P';
        @$one{qw(kind request pause number)} = ($kind, $document, 0.1, ++$requests);
        $one->{replied} = 1 if $kind eq 'R';
        $waiting{$one->{number}} = $key;
        $send_again->($one);
    };
    my $carrier = { most => sub { $max - 1024 }, said => $said };
    my $end = sub { my ($key) = @_; my $slot = $work{$key}{slot}; forget($key); @$slot{qw(state at)} = ('idle', 0) };
    my $answered = sub {
        my ($number, $status, $body) = @_;
        my $key = $waiting{$number} // return;
        my $one = $work{$key};
        return delete $waiting{$number} unless $one && $one->{number} == $number;
        return $one->{next} = time + $one->{pause} if $status;      # No responders: the same again.
        delete $waiting{$number};
        delete $one->{request};
        return give($one, $body) if $one->{kind} ne 'R';
        warn "the reply was refused: $body\n" if $body =~ /system-error/;
        $publish->($one->{ack}, '+ACK');
        $end->($key);
    };
    my $came = sub {      # One message: its subscription, subject, reply subject, status and body.
        my ($sid, $subject, $reply, $status, $body, $head) = @_;
        if ($sid == 1) { my ($number) = $subject =~ /\.(\d+)$/; return $answered->($number, $status, $body) }
        if ($sid == 2) {
            my $root = eval { parsed($body) } or return;
            return unless $root->localname eq 'cancel' && ($root->namespaceURI // '') eq $LISTENER;
            my $delivery = $root->getAttribute('delivery');
            $forgotten{$delivery} = time;
            $work{$_}{delivery} eq $delivery and $end->($_) for keys %work;
            return;
        }
        if ($sid >= 100) {
            my ($verb) = $subject =~ /^\$SRV\.(\w+)/;
            my $more = $verb eq 'INFO' ? ',"description":"tasks","endpoints":[]' : $verb eq 'STATS' ? ',"started":"2026-11-29T00:00:00Z","endpoints":[]' : '';
            return $publish->($reply, '{"type":"io.nats.micro.v1.' . lc($verb) . "_response\",\"name\":\"$name\",\"id\":\"$id\",\"version\":\"1.0.0\",\"metadata\":{\"organism\":\"$organism\"}$more}");
        }
        my $slot = $slots[$sid - 10] or return;
        if ($status) { @$slot{qw(state at)} = ('idle', $status eq '408' ? 0 : time + 1); return }
        my ($place) = $head =~ /^Systole-Reply: *(\S+)/mi;
        my $root = eval { parsed($body) };
        my $stamp = $root && ($root->namespaceURI // '') eq $ENVELOPE && ($XPC->findnodes('e:meta/s:stamp', $root))[0];
        if (!$stamp) { warn "it does not know what came\n"; @$slot{qw(state at)} = ('idle', 0); return }
        if ($forgotten{$stamp->getAttribute('delivery')}) { @$slot{qw(state at)} = ('idle', 0); return }
        begin($root, $carrier, ack => $reply, place => $place, slot => $slot, next => 0);
        $slot->{state} = 'working';
    };
    my $connect = sub {
        $tried = time;
        $socket = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port, Timeout => 2) or return;
        my $hello = '';
        while ($hello !~ /\n/) { sysread($socket, $hello, 4096, length $hello) or return $lost->() }
        $max = $1 if $hello =~ /"max_payload":(\d+)/;
        my $login = '';
        if ($key && $hello =~ /"nonce":"([^"]+)"/) {
            my $public = chr(20 << 3) . $key->export_key_raw('public');
            $login = '"nkey":"' . to_base32($public . pack('v', crc16($public))) . '","sig":"' . encode_base64url($key->sign_message($1)) . '",';
        }
        $write->("CONNECT {${login}\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"lang\":\"perl\",\"version\":\"1\",\"protocol\":1}\r\n");
        $write->("SUB _INBOX_$name.$id.r.* 1\r\nSUB o.$organism.cancel.$name 2\r\n");
        my $sid = 100;      # Each subscription has a number of its own.
        for my $verb (qw(PING INFO STATS)) { $write->("SUB \$SRV.$verb$_ " . $sid++ . "\r\n") for '', ".$name", ".$name.$id" }
        $write->("SUB $slots[$_]{inbox} " . ($_ + 10) . "\r\n") for 0 .. $#slots;
        $_->{next} = 0 for values %work;
    };
    my $read = sub {
        sysread($socket, $held, 1 << 16, length $held) or return $lost->();
        while ($socket && $held =~ /^(.*?)\r\n/) {
            my ($line, $after) = ($1, $+[0]);
            if ($line =~ /^(H?)MSG /) {
                my ($has_head, @words) = ($1, split / /, $line);
                my $length = pop @words;
                my $head_length = $has_head ? pop @words : 0;
                my (undef, $subject, $sid, $reply) = @words;
                last if length $held < $after + $length + 2;
                my $head = substr $held, $after, $head_length;
                my $body = substr $held, $after + $head_length, $length - $head_length;
                substr($held, 0, $after + $length + 2) = '';
                my ($status) = $head =~ m{^NATS/1\.0 (\d+)};
                $came->($sid, $subject, $reply, $status, $body, $head);
                next;
            }
            substr($held, 0, $after) = '';
            $write->("PONG\r\n") if $line eq 'PING';
            warn "the broker says $line\n" if $line =~ /^-ERR/;
        }
    };
    while (1) {
        my $now = time;
        $ENDS //= $now + 30 if $TERMS;
        last if $TERMS && !%work && !grep { $_->{state} eq 'pulling' && $_->{at} > $now } @slots;
        if ($TERMS > 1 || ($ENDS && $now > $ENDS)) { warn "open: " . join(' ', map { $_->{delivery} } values %work) . "\n"; _exit(1) }
        $connect->() if !$socket && $now > $tried + 0.5;
        for my $slot ($socket ? @slots : ()) {
            next if $slot->{state} eq 'working' || $slot->{at} > $now || $TERMS;
            $publish->("\$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_${organism}_BUS.$name", '{"batch":1,"expires":5000000000}', $slot->{inbox});
            @$slot{qw(state at)} = ('pulling', $now + 7);
        }
        for my $one ($socket ? values %work : ()) {
            if ($now >= $one->{renew}) { $publish->($one->{ack}, '+WPI'); $one->{renew} = $now + 1 }
            $send_again->($one) if $one->{request} && $now >= $one->{next};
        }
        $read->() if wait_some($socket) && $socket;
    }
    _exit(0);
}

$ENV{SYSTOLE_NATS} ? serve_nats() : serve_pipe();
