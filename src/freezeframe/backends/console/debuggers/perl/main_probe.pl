# Runs inside the program's interpreter, under `perl -d`, in place of its prompt for people: commands
# come through one pipe, answers go through another, and the standard streams are the program's alone.
#
# A command is a word and its arguments; those that begin with an x are hexadecimal. An answer is a
# line of JSON, or `*** ` and a complaint. There is no DB::sub: calls run at their own speed, and a
# step over one is a run to the lines of those who wait for it.

# First, so that nothing of ours is in sight of what is evaluated in it.
package FreezeframeClean;
sub run { package main; eval $DB::ff_code }

package DB;
use utf8;
use strict;
use warnings;
no warnings qw(once recursion);

our ($single, $signal, $trace, %sub, @dbline, %dbline);
our ($ff_code, @ff_result, @ff_saved, %ff_refs, @ff_kept);
our ($ff_in, $ff_out, $ff_buffer) = (undef, undef, '');
our ($ff_busy, $ff_evaluating, $ff_gone, $ff_first) = (0, 0, 0, 1);
our $ff_pid = $$;
our ($ff_mode, $ff_target) = ('', 0);
our (%ff_breaks, %ff_at, %ff_waiting, %ff_path, %ff_swept, %ff_cops, %ff_filters);
our ($ff_last, $ff_error) = (0, undef);
our ($ff_short, $ff_long) = (1_000, 60_000);

sub ff_begin {
    my ($read, $write) = split / /, delete $ENV{FREEZEFRAME_PIPES};
    my $before = delete $ENV{FREEZEFRAME_PERL5DB};
    if (defined $before) { $ENV{PERL5DB} = $before } else { delete $ENV{PERL5DB} }
    require B;
    require Cwd;
    require Scalar::Util;
    open $ff_in, '<&=', $read or die "freezeframe: no pipe to read from: $!\n";
    open $ff_out, '>&=', $write or die "freezeframe: no pipe to write to: $!\n";
    binmode $ff_in;
    binmode $ff_out;
    $SIG{URG} = \&ff_pause;
    $SIG{__DIE__} = \&ff_die;
    ff_send('@hello ' . sprintf('%vd', $^V) . "\n");
}

sub CLONE { ($ff_gone, $single) = (1, 0) }

# --- the line -----------------------------------------------------------------------------------

sub ff_send {
    my ($text) = @_;
    utf8::encode($text) if utf8::is_utf8($text);
    while (length $text) {
        my $sent = syswrite $ff_out, $text;
        next if !defined $sent && $!{EINTR};
        return ff_leave() if !$sent;
        substr $text, 0, $sent, '';
    }
}

sub ff_hear {
    while ($ff_buffer !~ /\n/) {
        my $got = sysread $ff_in, $ff_buffer, 65_536, length $ff_buffer;
        next if !defined $got && $!{EINTR};
        return undef if !$got;
    }
    $ff_buffer =~ s/\A(.*?)\n//s;
    return $1;
}

sub ff_leave {
    $ff_gone = 1;
    $single = 0;
    ff_unsweep();
    ff_mark($_->{file}, $_->{line}, 0) for grep { defined $_->{line} } values %ff_breaks;
    $SIG{__DIE__} = 'DEFAULT' if ref $SIG{__DIE__} && $SIG{__DIE__} == \&ff_die;
}

sub ff_json {
    my ($value) = @_;
    return 'null' if !defined $value;
    return '[' . join(',', map { ff_json($_) } @$value) . ']' if ref $value eq 'ARRAY';
    if (ref $value eq 'HASH') {
        return '{' . join(',', map { ff_json($_) . ':' . ff_json($value->{$_}) } keys %$value) . '}';
    }
    my $text = "$value";
    utf8::decode($text) if !utf8::is_utf8($text);
    $text =~ s{([^ !#-\[\]-~])}{ff_escape(ord $1)}ge;
    return qq("$text");
}

sub ff_escape {
    my ($code) = @_;
    return sprintf '\u%04x', $code if $code < 0x10000;
    $code -= 0x10000;
    return sprintf '\u%04x\u%04x', 0xd800 + ($code >> 10), 0xdc00 + ($code & 0x3ff);
}

# --- stops --------------------------------------------------------------------------------------

sub DB {
    return if $ff_busy || $ff_gone;
    if ($$ != $ff_pid) { $ff_gone = 1; $single = 0; return }
    local ($@, $!, $?, $^E, $,, $/, $\) = ($@, $!, $?, $^E, '', "\n", '');
    @ff_saved = ($@, $!);
    my ($package, $file, $line) = caller;
    if ($ff_first) {
        $ff_first = 0;
        ff_loaded($_) for map { /\A_<(.*)/s ? $1 : () } keys %main::;
        ff_stand({reason => 'entry'});
        return;
    }
    my @hit = map { $_->{number} } grep { ff_holds($_) } values %{$ff_at{$file}{$line} || {}};
    if (!@hit) {
        return if $ff_mode eq '';
        my $depth = ff_depth();
        if ($ff_mode ne 'into' && $depth > $ff_target) {
            ff_sweep($ff_target) if $single;
            return;
        }
        return if $ff_mode eq 'into' && ff_in_header($file, $line);
    }
    ff_stand({numbers => \@hit});
}

sub ff_pause {
    return if $ff_gone || $$ != $ff_pid;
    if ($ff_evaluating) { $ff_evaluating = 0; die "it was interrupted\n" }
    return if $ff_busy || $ff_first;
    local ($@, $!, $?, $^E, $,, $/, $\) = ($@, $!, $?, $^E, '', "\n", '');
    @ff_saved = ($@, $!);
    ff_stand({reason => 'pause'});
}

sub ff_die {
    my ($error) = @_;
    return if $ff_busy || $ff_gone || $ff_first || $$ != $ff_pid || !defined $^S;
    my @wanted = grep { defined } $ff_filters{raised}, $^S ? () : $ff_filters{uncaught};
    return if !grep { ff_is_one_of($error, @$_) } @wanted;
    local ($@, $!, $?, $^E, $,, $/, $\) = ($@, $!, $?, $^E, '', "\n", '');
    @ff_saved = ($@, $!);
    $ff_error = {object => $error, caught => $^S};
    ff_stand({reason => 'exception'});
    $ff_error = undef;
}

sub ff_is_one_of {
    my ($error, @types) = @_;
    return 1 if !@types;
    my $class = Scalar::Util::blessed($error);
    return defined $class && grep { $class->isa($_) } @types;
}

sub ff_stand {
    my ($stop) = @_;
    local $ff_busy = 1;
    local $SIG{PIPE} = 'IGNORE';
    ff_unsweep();
    $single = 0;
    my ($here) = ff_stack();
    ff_send('@stop ' . ff_json({%$stop, path => ff_absolute($here->{file}), line => $here->{line},
        function => $here->{function}}) . "\n");
    while (!$ff_gone) {
        ff_send('perl> ');
        my $line = ff_hear();
        if (!defined $line) { ff_leave(); last }
        my ($command, @words) = split / /, $line;
        next if !defined $command;
        @words = map { /\Ax(.*)/s ? pack('H*', $1) : $_ } @words;
        if ($command eq 'go') { ff_go(@words); last }
        my $answer = eval { no strict 'refs'; &{"DB::do_$command"}(@words) };
        if (!defined $answer) { $answer = '*** ' . ff_words($@) }
        ff_send("$answer\n");
    }
    @ff_kept = ();
}

sub ff_go {
    my ($mode) = @_;
    my $depth = ff_depth();
    $ff_mode = $mode eq 'run' ? '' : $mode;
    $ff_target = $mode eq 'out' ? $depth - 1 : $depth;
    if ($mode eq 'out') { ff_sweep($ff_target) }
    elsif ($mode ne 'run') { $single = 1 }
}

sub ff_words {
    my ($error) = @_;
    $error = "$error";
    $error =~ s/ at (?:\(eval \d+\)(?:\[[^\]]*\])?|\Q${\__FILE__}\E) line \d+(?:, <\S*> (?:line|chunk) \d+)?//g;
    $error =~ s/\s*\n\s*/ /g;
    $error =~ s/[.\s]+\z//;
    return $error;
}

# --- the stack ----------------------------------------------------------------------------------

# Innermost first. The block of an eval is part of the function that it stands in.
sub ff_stack {
    my ($level, @stack) = (0);
    my @at;
    while (@at = caller $level) { last if $at[0] ne 'DB'; $level++ }
    while (@at) {
        my $frame = {file => $at[1], line => $at[2], package => $at[0], hints => $at[8],
            bits => $at[9]};
        my @of;
        while (@of = caller ++$level) { last if $of[3] ne '(eval)' || defined $of[6] || $of[7] }
        $frame->{code} = !@of ? B::main_cv() : ff_code_of($of[3]);
        $frame->{sub} = @of ? $of[3] : undef;
        $frame->{function} = !@of ? '<main>' : $of[3] ne '(eval)' ? $of[3]
            : $of[7] ? "require $of[6]" : 'eval';
        $frame->{function} =~ s/\Amain:://;
        push @stack, $frame;
        @at = @of;
    }
    my %depth;
    for my $frame (reverse @stack) {
        $frame->{depth} = ++$depth{ref $frame->{code} ? ${$frame->{code}} : ''};
    }
    return @stack;
}

sub ff_depth {
    my ($level, $depth) = (0, 0);
    while (my @of = caller $level++) {
        $depth++ if $of[0] ne 'DB' && $of[3] !~ /\ADB::/ && ($of[3] ne '(eval)' || defined $of[6] || $of[7]);
    }
    return $depth;
}

sub ff_code_of {
    my ($name) = @_;
    return undef if $name eq '(eval)';
    no strict 'refs';
    return defined &{$name} ? B::svref_2object(\&{$name}) : undef;
}

# Stop at any line of those who wait, down to a depth, and of nobody else.
sub ff_sweep {
    my ($target) = @_;
    $single = 0;
    my @stack = ff_stack();
    splice @stack, 0, @stack - $target - 1 if @stack > $target + 1;
    for my $frame (@stack) {
        my ($from, $to) = (1, 1e9);
        ($from, $to) = ($1, $2) if defined $frame->{sub} && ($sub{$frame->{sub}} || '') =~ /:(\d+)-(\d+)\z/;
        my $file = $frame->{file};
        next if !$main::{"_<$file"} || $ff_swept{$file}{"$from-$to"};
        $ff_swept{$file}{"$from-$to"} = 1;
        local *dbline = $main::{"_<$file"};
        $to = $#dbline if $to > $#dbline;
        for my $line ($from .. $to) {
            no warnings;
            $dbline{$line} = 1 if defined $dbline[$line] && $dbline[$line] != 0;
        }
    }
}

sub ff_unsweep {
    for my $file (keys %ff_swept) {
        local *dbline = $main::{"_<$file"};
        for my $range (keys %{$ff_swept{$file}}) {
            my ($from, $to) = split /-/, $range;
            $to = $#dbline if $to > $#dbline;
            for my $line ($from .. $to) {
                no warnings;
                next if !defined $dbline[$line] || $dbline[$line] == 0;
                $dbline{$line} = %{$ff_at{$file}{$line} || {}} ? 1 : 0;
            }
        }
    }
    %ff_swept = ();
}

# --- places -------------------------------------------------------------------------------------

sub ff_absolute {
    my ($file) = @_;
    return $ff_path{$file} if exists $ff_path{$file};
    return $ff_path{$file} = $file if $file =~ /\A\(eval/;
    my $path = eval { Cwd::abs_path($file) };
    return $ff_path{$file} = defined $path && -e $path ? $path : $file;
}

sub ff_loaded {
    my ($file) = @_;
    my $path = ff_absolute($file);
    for my $break (map { values %$_ } delete $ff_waiting{$path} || {}) { eval { ff_place($break, $file) } }
}

# Perl calls this when a file has been compiled, and has not run.
sub postponed {
    my ($what) = @_;
    return if ref \$what ne 'GLOB' || $ff_gone;
    local ($@, $!);
    my $file = "$what";
    $file =~ s/\A\*main::_<//;
    ff_loaded($file);
    for my $break (grep { defined $_->{function} && !defined $_->{line} } values %ff_breaks) {
        eval { ff_place_function($break) };
    }
}

sub ff_mark {
    my ($file, $line, $on) = @_;
    return if !$main::{"_<$file"};
    local *dbline = $main::{"_<$file"};
    no warnings;
    $dbline{$line} = $on;
}

sub ff_place {
    my ($break, $file) = @_;
    my $line = $break->{wanted};
    {
        no warnings;
        local *dbline = $main::{"_<$file"};
        $line++ while $line <= $#dbline && !(defined $dbline[$line] && $dbline[$line] != 0);
        die "there is no code at line $break->{wanted} or after it\n" if $line > $#dbline;
    }
    @$break{'file', 'line'} = ($file, $line);
    $ff_at{$file}{$line}{$break->{number}} = $break;
    ff_mark($file, $line, 1);
}

sub ff_place_function {
    my ($break) = @_;
    my $name = $break->{function};
    $name =~ s/->/::/;
    my @found = grep { exists $sub{$_} } $name, "main::$name";
    @found = sort grep { /::\Q$name\E\z/ } keys %sub if !@found;
    return 0 if !@found || $sub{$found[0]} !~ /\A(.*):(\d+)-(\d+)\z/s;
    my ($file, $from) = ($1, $2);
    my $code = ff_code_of($found[0]);
    $break->{wanted} = ($code && ff_body($code)) || $from;
    ff_place($break, $file);
    return 1;
}

# The line of the first statement behind a signature.
sub ff_body {
    my ($code) = @_;
    my $op = eval { $code->START } or return undef;
    my $line;
    while ($$op) {
        my $name = $op->name;
        if ($name =~ /\A(?:db|next)state\z/) { $line = $op->line }
        elsif ($name =~ /\A(?:arg\w+|null|lineseq)\z/) { }
        else { last }
        $op = $op->next;
    }
    return $line;
}

sub ff_in_header {
    my ($file, $line) = @_;
    my ($frame) = ff_stack();
    return 0 if !defined $frame->{sub} || !ref $frame->{code};
    my $body = ff_body($frame->{code});
    return defined $body && $line < $body;
}

sub ff_holds {
    my ($break) = @_;
    return 1 if !defined $break->{condition};
    local $ff_busy = 1;
    my $holds = eval { my ($value) = ff_evaluate($break->{condition}, 0, 'scalar'); $value ? 1 : 0 };
    return !defined $holds || $holds;
}

sub do_mark { return $_[0] }

sub do_break {
    my ($path, $line, $condition) = @_;
    my $break = {number => ++$ff_last, wanted => $line, condition => $condition};
    my ($file) = grep { exists $main::{"_<$_"} } grep { ff_absolute($_) eq $path }
        map { /\A_<(.*)/s ? $1 : () } keys %main::;
    if (defined $file) { ff_place($break, $file) }
    else { $ff_waiting{$path}{$break->{number}} = $break }
    return ff_made($break);
}

sub do_function {
    my ($name, $condition) = @_;
    my $break = {number => ++$ff_last, function => $name, condition => $condition};
    ff_place_function($break);
    return ff_made($break);
}

sub ff_made {
    my ($break) = @_;
    $ff_breaks{$break->{number}} = $break;
    my $path = defined $break->{file} ? ff_absolute($break->{file}) : undef;
    return ff_json({number => $break->{number}, path => $path, line => $break->{line}});
}

sub do_unbreak {
    my ($number) = @_;
    my $break = delete $ff_breaks{$number} or return '';
    delete $_->{$number} for values %ff_waiting;
    return '' if !defined $break->{line};
    my $there = $ff_at{$break->{file}}{$break->{line}};
    delete $there->{$number};
    ff_mark($break->{file}, $break->{line}, 0) if !%$there;
    return '';
}

sub do_filters {
    %ff_filters = map { my ($name, @types) = split /,/; ($name => \@types) } @_;
    return '';
}

# --- what is in sight ---------------------------------------------------------------------------

sub ff_frame {
    my ($level) = @_;
    my @stack = ff_stack();
    die "there is no such frame\n" if $level > $#stack;
    return $stack[$level];
}

sub ff_all_cops {
    my ($code) = @_;
    return @{$ff_cops{$$code} ||= do {
        my @found;
        my @left = ($$code == ${B::main_cv()} ? B::main_root() : $code->ROOT);
        while (my $op = pop @left) {
            next if !$$op;
            push @found, [$op->line, $op->cop_seq] if $op->isa('B::COP');
            next if !($op->flags & 4);    # no kids
            for (my $kid = $op->first; $$kid; $kid = $kid->sibling) { push @left, $kid }
        }
        [sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @found];
    }};
}

# Name and number in the pad of what can be named at a frame's line.
sub ff_names {
    my ($frame) = @_;
    my $code = $frame->{code};
    return () if !ref $code || !$code->can('PADLIST') || ref $code->PADLIST eq 'B::SPECIAL';
    my @before = grep { $_->[0] <= $frame->{line} } ff_all_cops($code);
    my ($same) = grep { $_->[0] == $frame->{line} } @before;
    my $at = $same || $before[-1];
    my $seq = $at ? $at->[1] : 0;
    my ($names, %found) = $code->PADLIST->ARRAYelt(0);
    my $number = -1;
    for my $each ($names->ARRAY) {
        $number++;
        next if $each->isa('B::SPECIAL') || !defined $each->PV;
        my $name = $each->PV;
        next if $name !~ /\A[\$\@%]\w/ || $each->FLAGS & 0x8;    # our
        my $captured = $each->FLAGS & B::SVf_FAKE();
        next if !$captured
            && !($seq > $each->COP_SEQ_RANGE_LOW && $seq <= $each->COP_SEQ_RANGE_HIGH);
        my $begin = $captured ? 0 : $each->COP_SEQ_RANGE_LOW;
        next if $found{$name} && $found{$name}[1] > $begin;
        $found{$name} = [$number, $begin];
    }
    return map { [$_, $found{$_}[0]] } sort { $found{$a}[0] <=> $found{$b}[0] } keys %found;
}

# Where no pad can be reached: what the text has declared so far, and what of it can be seen.
sub ff_declared {
    my ($frame) = @_;
    return () if !$main::{"_<$frame->{file}"};
    local *dbline = $main::{"_<$frame->{file}"};
    my ($text, %seen) = ('');
    for my $line (1 .. $frame->{line} - 1) { $text .= $dbline[$line] if defined $dbline[$line] }
    my @names;
    while ($text =~ /\b(?:my|state)\s*(?:\(([^)]*)\)|([\$\@%]\w+))/g) {
        push @names, grep { !$seen{$_}++ } (defined $1 ? $1 : $2) =~ /[\$\@%]\w+/g;
    }
    return @names;
}

sub ff_variables {
    my ($level) = @_;
    my $frame = ff_frame($level);
    my @named = ff_names($frame);
    if ($level == 0) {
        my @names = @named ? map { $_->[0] } @named : ref $frame->{code} ? () : ff_declared($frame);
        return grep { ref $_->[1] } map { [$_, eval { (ff_evaluate("\\$_", 0))[0] }] } @names;
    }
    return () if !@named || $frame->{code}->CvFLAGS & B::CVf_CLONE();
    my $pad = $frame->{code}->PADLIST->ARRAYelt($frame->{depth});
    return grep { ref $_->[1] } map { [$_->[0], eval { $pad->ARRAYelt($_->[1])->object_2svref }] } @named;
}

sub ff_evaluate {
    my ($expression, $level, $context) = @_;
    my $frame = ff_frame($level);
    utf8::decode($expression) if ($frame->{hints} || 0) & 0x00800000;
    my $hints = 'BEGIN { $^H = ' . (($frame->{hints} || 0) & ~0x20000) . '; ${^WARNING_BITS} = undef; }';
    my $head = "$hints no warnings; package $frame->{package}; ";
    if ($level > 0) {
        my %refs = map { @$_ } ff_variables($level);
        %ff_refs = %refs;
        my $aliases = join ' ', map { "\\my $_ = \$DB::ff_refs{'$_'};" } sort keys %refs;
        $head = "use feature 'refaliasing'; no warnings; $aliases $head";
    }
    $ff_code = "$head(\$\@, \$!) = \@DB::ff_saved;\n#line 1 \"(expression)\"\n$expression\n;";
    my ($failed, @result);
    {
        local ($ff_evaluating, $@) = (1, '');
        local $SIG{__WARN__} = sub { };
        @ff_result = ();
        if (($context || '') eq 'scalar') { $ff_result[0] = $level ? FreezeframeClean::run() : ff_here() }
        else { @ff_result = $level ? FreezeframeClean::run() : ff_here() }
        $failed = $@;
        @result = @ff_result;
    }
    die(ref $failed ? ff_message($failed) . "\n" : $failed) if ref $failed || length $failed;
    return @result;
}

# In the package DB, an eval is one in the function that stands.
sub ff_here { eval $ff_code }

sub ff_message {
    my ($error) = @_;
    my $class = Scalar::Util::blessed($error);
    my $text = '';
    if (defined $class) {
        $text = eval { $error->can('message') ? $error->message : overload::Method($error, '""') ? "$error" : '' };
    }
    else { $text = ref $error ? ff_text($error, 300) : $error }
    return defined $text && length $text ? "$text" : $class;
}

# --- answers ------------------------------------------------------------------------------------

sub do_frames {
    my ($start, $count) = @_;
    my @stack = ff_stack();
    my $end = $start + $count - 1;
    $end = $#stack if $end > $#stack;
    return ff_json([map { {function => $_->{function}, path => ff_absolute($_->{file}),
        line => $_->{line}, module => $_->{package}} } @stack[$start .. $end]]);
}

sub do_locals {
    my ($level) = @_;
    my @values = map { ff_value($_->[0], $_->[1], $_->[0], $ff_short) } ff_variables($level);
    return ff_json({values => \@values, arguments => ff_arguments(ff_frame($level))});
}

sub do_globals {
    my ($level) = @_;
    my $package = ff_frame($level)->{package};
    my @values;
    no strict 'refs';
    for my $name (sort keys %{"${package}::"}) {
        next if $name !~ /\A[A-Za-z]\w*\z/ || $name =~ /\A(?:ENV|INC|ARGV|STDIN|STDOUT|STDERR|SIG|BEGIN|END|a|b)\z/;
        my $glob = \${"${package}::"}{$name};
        next if ref $glob ne 'GLOB';
        push @values, ff_value("\$$name", *{$glob}{SCALAR}, "\$${package}::$name", $ff_short)
            if defined ${*{$glob}{SCALAR}};
        push @values, ff_value("\@$name", *{$glob}{ARRAY}, "\@${package}::$name", $ff_short) if *{$glob}{ARRAY};
        push @values, ff_value("%$name", *{$glob}{HASH}, "%${package}::$name", $ff_short) if *{$glob}{HASH};
    }
    return ff_json({values => \@values});
}

# Names that a function gives to its arguments: of its signature, or of the lines that take them.
sub ff_arguments {
    my ($frame) = @_;
    return undef if !defined $frame->{sub} || ($sub{$frame->{sub}} || '') !~ /\A(.*):(\d+)-(\d+)\z/s;
    my ($file, $from, $to) = ($1, $2, $3);
    return undef if !$main::{"_<$file"};
    local *dbline = $main::{"_<$file"};
    my $text = join '', map { defined $dbline[$_] ? $dbline[$_] : '' } $from .. ($to < $from + 20 ? $to : $from + 20);
    $text =~ s/#.*//g;
    return [] if $text !~ /\bsub\b\s*[\w:]*\s*(?:\(([^)]*)\))?[^{]*\{(.*)/s;
    my ($signature, $body) = ($1, $2);
    return [$signature =~ /[\$\@%]\w+/g] if defined $signature && $signature =~ /[\$\@%]\w/;
    my @names;
    while ($body =~ /\G\s*my\s*(?:\(([^)]*)\)\s*=\s*\@_\s*;|(\$\w+)\s*=\s*(?:shift\s*(?:\(?\s*(?:\@_)?\s*\)?)?|\$_\[\d+\])\s*(?:(?:\/\/|\|\|)[^;]*)?;)/g) {
        push @names, (defined $1 ? $1 : $2) =~ /[\$\@%]\w+/g;
    }
    return \@names;
}

sub do_eval {
    my ($level, $expression, $how) = @_;
    if ($how eq 'truth') {
        my ($value) = ff_evaluate($expression, $level, 'scalar');
        return $value ? '1' : '0';
    }
    if ($expression =~ /\A\s*([\@%][\w:]+)\s*\z/) {
        my ($ref) = ff_evaluate("\\$1", $level);
        return ff_json(ff_value($expression, $ref, $1, $ff_long));
    }
    my @result = ff_evaluate($expression, $level);
    if ($how eq 'text' && @result == 1) {
        return ff_json({text => defined $result[0] ? ref $result[0] ? ff_text($result[0], $ff_short) : $result[0] : 'undef'});
    }
    my $plain = $expression =~ /\A\s*\$[\w:]+\s*\z/;
    push @ff_kept, @result == 1 ? \$result[0] : \@result;
    my $kept = "\$DB::ff_kept[$#ff_kept]";
    my $name = $plain ? $expression : @result == 1 ? "\${$kept}" : "\@{$kept}";
    return ff_json(ff_value($expression, $ff_kept[-1], $name, $ff_long));
}

sub do_children {
    my ($level, $expression, $start, $count) = @_;
    my ($ref) = ff_evaluate("\\($expression)", $level) if $expression !~ /\A[\@%]/;
    ($ref) = ff_evaluate("\\$expression", $level) if $expression =~ /\A[\@%]/;
    my $inner = $expression =~ /\A[\@%]/ ? $ref : $$ref;
    my $type = Scalar::Util::reftype($inner) || '';
    my ($prefix, $arrow) = ($expression, '->');
    if ($expression =~ /\A[\@%](.*)\z/s) {
        my $name = $1;
        ($prefix, $arrow) = $name =~ /\A\{(.*)\}\z/s ? ($1, '->') : ("\$$name", '');
    }
    my @found;
    if ($type eq 'ARRAY') {
        my $end = length($count) ? $start + $count - 1 : $#$inner;
        $end = $#$inner if $end > $#$inner;
        @found = map { ff_value("[$_]", \$inner->[$_], "$prefix${arrow}[$_]", $ff_short) } $start .. $end;
    }
    elsif ($type eq 'HASH') {
        my @keys = ff_keys($inner);
        my $end = length($count) ? $start + $count - 1 : $#keys;
        $end = $#keys if $end > $#keys;
        @found = map { ff_value('{' . ff_key($_) . '}', \$inner->{$_}, "$prefix${arrow}{" . ff_quoted($_) . '}', $ff_short) }
            @keys[$start .. $end];
    }
    elsif ($type =~ /\A(?:SCALAR|REF|VSTRING|LVALUE)\z/) {
        @found = (ff_value('$$', $inner, "\${$expression}", $ff_short));
    }
    return ff_json(\@found);
}

sub do_exception {
    return 'null' if !$ff_error;
    my $error = $ff_error->{object};
    my $message = ff_message($error);
    $message =~ s/ at \S.* line \d+(?:, <\S*> (?:line|chunk) \d+)?\.?\s*\z//s;
    my @lines = map { {path => ff_absolute($_->{file}), line => $_->{line}, function => $_->{function}} } ff_stack();
    my $type = Scalar::Util::blessed($error) // (ref $error || 'die');
    return ff_json({type => $type, message => $message, mode => $ff_error->{caught} ? 'raised' : 'uncaught',
        traceback => [reverse @lines]});
}

# --- values, in the words of the language -------------------------------------------------------

sub ff_value {
    my ($name, $ref, $expression, $room) = @_;
    my $type = Scalar::Util::reftype($ref);
    my ($inner, $kind) = ($ref, undef);
    if ($type eq 'ARRAY' || $type eq 'HASH') { $kind = lc $type }
    else {
        $inner = $$ref;
        $kind = Scalar::Util::blessed($inner) // (ref $inner ? ref $inner : undef);
        $type = ref $inner ? Scalar::Util::reftype($inner) : '';
    }
    my $count = $type eq 'ARRAY' ? scalar @$inner : $type eq 'HASH' ? scalar(keys %$inner)
        : $type =~ /\A(?:SCALAR|REF)\z/ ? 1 : 0;
    $count = 0 if defined $kind && $kind eq 'Regexp';
    my $text = defined $kind && ($kind eq 'array' || $kind eq 'hash')
        ? ff_listed($inner, '(', ')', $room, {}) : ff_text($inner, $room);
    return {name => $name, text => $text, type => $kind, count => $count, expression => $expression};
}

sub ff_keys {
    my ($hash) = @_;
    my @keys = keys %$hash;
    return sort { $a <=> $b } @keys if !grep { !/\A-?\d{1,15}\z/ } @keys;
    return sort @keys;
}

sub ff_key { my ($key) = @_; return $key =~ /\A\w+\z/ ? $key : ff_quoted($key) }

sub ff_quoted {
    my ($text) = @_;
    utf8::decode($text) if !utf8::is_utf8($text);
    if ($text =~ /[\x00-\x1f\x7f]/) {
        my %named = ("\n" => '\n', "\t" => '\t', "\r" => '\r', "\e" => '\e', "\0" => '\0');
        $text =~ s/([\\"\$\@])/\\$1/g;
        $text =~ s/([\x00-\x1f\x7f])/$named{$1} || sprintf '\x%02x', ord $1/ge;
        return qq("$text");
    }
    $text =~ s/([\\'])/\\$1/g;
    return "'$text'";
}

sub ff_text {
    my ($value, $room, $seen) = @_;
    return 'undef' if !defined $value;
    if (!ref $value) {
        return "$value" if ref \$value eq 'GLOB';
        my $flags = B::svref_2object(\$value)->FLAGS;
        return "$value" if !($flags & B::SVf_POK()) && $flags & (B::SVf_IOK() | B::SVf_NOK());
        my $cut = length $value > $room;
        return ff_quoted($cut ? substr($value, 0, $room) : $value) . ($cut ? '…' : '');
    }
    my ($class, $type) = (Scalar::Util::blessed($value), Scalar::Util::reftype($value));
    $seen = {%{$seen || {}}};
    my $address = Scalar::Util::refaddr($value);
    return ($class // $type) . '(…)' if $seen->{$address}++;
    my $head = defined $class ? "$class " : '';
    if (defined $class && $class eq 'Regexp') { my ($words, $flags) = re::regexp_pattern($value); return "qr/$words/$flags" }
    return $head . ff_listed($value, '[', ']', $room, $seen) if $type eq 'ARRAY';
    return $head . ff_listed($value, '{', '}', $room, $seen) if $type eq 'HASH';
    if ($type eq 'CODE') {
        my $gv = B::svref_2object($value)->GV;
        my $name = $gv->isa('B::SPECIAL') ? '__ANON__' : $gv->STASH->NAME . '::' . $gv->NAME;
        $name =~ s/\Amain:://;
        return $name =~ /__ANON__/ ? "${head}sub {…}" : "$head\\&$name";
    }
    return "$head\\" . ff_text($$value, $room, $seen) if $type =~ /\A(?:SCALAR|REF|VSTRING|LVALUE)\z/;
    return "$head\\" . *$value if $type eq 'GLOB';
    return "$head$type";
}

sub ff_listed {
    my ($value, $open, $close, $room, $seen) = @_;
    my $is_hash = Scalar::Util::reftype($value) eq 'HASH';
    return "$open$close" if !($is_hash ? %$value : @$value);
    return "$open…$close" if keys %$seen > 6;
    my @keys = $is_hash ? ff_keys($value) : (0 .. $#$value);
    my ($text, @parts) = ('');
    for my $key (@keys) {
        my $left = $room - length $text;
        if ($left <= 0) { $text .= ', …'; last }
        my $part = $is_hash ? ff_key($key) . ' => ' . ff_text($value->{$key}, $left, $seen)
            : ff_text($value->[$key], $left, $seen);
        $text .= (length $text ? ', ' : '') . $part;
    }
    return "$open$text$close";
}

ff_begin();
1;
