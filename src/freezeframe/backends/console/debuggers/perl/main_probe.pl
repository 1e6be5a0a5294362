# Runs inside the program's interpreter, under `perl -d`, in place of its prompt for people: commands
# come through one pipe, answers go through another, and the standard streams are the program's alone.
#
# A command is a word and its arguments; those that begin with an x are hexadecimal. An answer is a
# line of JSON, or `*** ` and a complaint. What is looked at, and how it is told: `looking_probe.pl`;
# where breakpoints lie: `places_probe.pl`.
#
# The program's `$1` is in sight of what is evaluated as long as nothing between `DB` and `ff_here`
# matches in its own block: what matches does so in a function of its own. Its `$/` must not even be
# made local: a read that is interrupted goes on with the memory that was behind it.

# First, so that nothing of ours is in sight of what is evaluated in it.
package FreezeframeClean;
sub run { package main; eval $DB::ff_code }

package DB;
use utf8;
use strict;
use warnings;
no warnings qw(once recursion);
no overloading;

our ($single, $signal, $trace, $sub);
our ($ff_in, $ff_out, $ff_buffer, $ff_pid, $ff_args, @ff_saved, $ff_error, @ff_bound, @ff_called);
our ($ff_busy, $ff_evaluating, $ff_gone, $ff_first, $ff_pending, $ff_last, $ff_calls);
our ($ff_mode, $ff_target, $ff_depth);
our (%ff_breaks, %ff_at, %ff_path, %ff_filters, %ff_watches, %ff_late, %ff_early);

BEGIN {
    # At the prompt; in the program's code because of a command; alone; before its first line.
    ($ff_busy, $ff_evaluating, $ff_gone, $ff_first) = (0, 0, 0, 1);
    # An interrupt that came at the prompt: the command to run may be on its way.
    $ff_pending = 0;
    # What a step waits for: its kind, and how many calls and frames deep it began.
    ($ff_mode, $ff_target, $ff_depth) = ('', 0, 0);
    # The calls that have not returned are in @ff_called: a name, or the address of what has none.
    $ff_calls = 0;
    ($ff_pid, $ff_last, $ff_buffer) = ($$, 0, '');
}

sub ff_begin {
    # Through a match, so that a program with taint checks (-T) trusts them, here and in `ff_hear`.
    my ($read, $write, $gentle) = delete($ENV{FREEZEFRAME_PIPES}) =~ /\A(\d+) (\d+) (\d+)\z/;
    my $before = delete $ENV{FREEZEFRAME_PERL5DB};
    if (defined $before) { $ENV{PERL5DB} = $before } else { delete $ENV{PERL5DB} }
    $^P |= 0x80;    # tell of `goto &function`
    require Cwd;
    require Fcntl;
    require POSIX;
    open $ff_in, '<&=', $read or die "freezeframe: no pipe to read from: $!\n";
    open $ff_out, '>&=', $write or die "freezeframe: no pipe to write to: $!\n";
    for my $pipe ($ff_in, $ff_out) {
        binmode $pipe;
        fcntl $pipe, Fcntl::F_SETFD(), Fcntl::FD_CLOEXEC();
    }
    $SIG{WINCH} = \&ff_pause;
    # What the program waits for goes on after this one, and is not told that it was interrupted.
    my $action = POSIX::SigAction->new(\&ff_pause, POSIX::SigSet->new, POSIX::SA_RESTART());
    $action->safe(1);
    POSIX::sigaction($gentle, $action);
    $SIG{__DIE__} = \&ff_die;
    ff_send("\@hello $]\n");
}

# Another thread of the program's is another interpreter: it runs alone.
sub CLONE { ($ff_gone, $single) = (1, 0) }

# --- the line -----------------------------------------------------------------------------------

sub ff_send {
    my ($text) = @_;
    return if $ff_gone;
    utf8::encode($text) if utf8::is_utf8($text);
    while (length $text) {
        my $sent = syswrite $ff_out, $text;
        next if !defined $sent && $!{EINTR};
        return ff_leave() if !$sent;
        substr $text, 0, $sent, '';
    }
}

sub ff_hear {
    return () if $ff_gone;
    while (index($ff_buffer, "\n") < 0) {
        my $got = sysread $ff_in, $ff_buffer, 65_536, length $ff_buffer;
        next if !defined $got && $!{EINTR};
        return () if !$got;
    }
    my $end = index $ff_buffer, "\n";
    my $line = substr $ff_buffer, 0, $end;
    substr $ff_buffer, 0, $end + 1, '';
    my @words = split / /, $line;
    return map { /\A(x?)(.*)\z/s && $1 ? pack('H*', $2) : $2 } @words ? @words : '';
}

# Nobody is there any more, or this is a child: the program goes on as if it were alone.
sub ff_leave {
    ($ff_gone, $single) = (1, 0);
    for my $break (values %ff_breaks) { ff_mark(@$_, 0) for @{$break->{places}} }
    $SIG{__DIE__} = 'DEFAULT' if ref $SIG{__DIE__} && $SIG{__DIE__} == \&ff_die;
    for my $name ('URG', 'WINCH') { $SIG{$name} = 'DEFAULT' if ref $SIG{$name} && $SIG{$name} == \&ff_pause }
    close $ff_in;
    close $ff_out;
}

# --- calls --------------------------------------------------------------------------------------

# Perl calls this instead of every function, with that in $sub.
sub sub {
    no strict 'refs';
    local $ff_calls = $ff_calls + 1;
    $ff_called[$ff_calls] = ref $sub ? 0 + $sub : $sub;
    if (@_ == 1 && !wantarray && !$ff_busy && $SIG{__DIE__}) { ff_die_in_handler($sub, $_[0]) }
    # A step into goes along; any other is taken up when this has returned, or died.
    local $single = 0 if $single && $ff_mode ne 'into' && !%ff_watches;
    if (wantarray) {
        my @returned = &$sub;
        ff_returned(\@returned) if $ff_mode eq 'out' && $ff_calls == $ff_target + 1;
        return @returned;
    }
    if (defined wantarray) {
        my $returned = &$sub;
        ff_returned(\$returned) if $ff_mode eq 'out' && $ff_calls == $ff_target + 1;
        return $returned;
    }
    &$sub;
    ff_returned(undef) if $ff_mode eq 'out' && $ff_calls == $ff_target + 1;
    return;
}

sub lsub : lvalue {
    no strict 'refs';
    local $ff_calls = $ff_calls + 1;
    $ff_called[$ff_calls] = ref $sub ? 0 + $sub : $sub;
    local $single = 0 if $single && $ff_mode ne 'into' && !%ff_watches;
    &$sub;
}

# One function has made room for another.
sub goto { $ff_called[$ff_calls] = ref $sub ? 0 + $sub : $sub }

# What was to be finished is: stand in the middle of the line that called it.
sub ff_returned {
    my ($value) = @_;
    return if $ff_busy || $ff_gone || $$ != $ff_pid;
    my $name = $ff_called[$ff_calls];
    local $ff_calls = $ff_calls - 1;
    $ff_args = undef;
    my @kept = ff_keep();
    ff_stand({reason => 'step', value => $value, from => $name}) if ff_top()->{line};
    ($@, $!, $?, $^E) = @kept;
}

# --- stops --------------------------------------------------------------------------------------

# Perl calls this before statements: with $single before every one, else before those that are marked.
sub DB {
    return if $ff_busy || $ff_gone;
    my ($package, $file, $line) = caller;
    my $marked = $ff_at{$file} && $ff_at{$file}{$line};
    if (!$marked && !%ff_watches && !$ff_first) {
        if ($ff_mode eq '') { $single = 0; return }
        return if $ff_mode ne 'into' && $ff_calls > $ff_target;
    }
    if ($$ != $ff_pid) { ff_leave(); return }
    $ff_args = \@_;
    my @kept = ff_keep();
    ff_look($file, $line, $marked);
    ($@, $!, $?, $^E) = @kept;
}

# What the program's variables for errors hold. They are magic: `local` would set them to nothing.
sub ff_keep {
    @ff_saved = ($@, $!, $?);
    return ($@, $! + 0, $?, $^E + 0);
}

# Stand before a statement, if a breakpoint, a watchpoint or a step wants it.
sub ff_look {
    my ($file, $line, $marked) = @_;
    if ($ff_first) {
        $ff_first = 0;
        ff_loaded($_) for ff_files();
        %ff_early = map { ($_ => 1) } grep { $_ ne $file } ff_files();
        return ff_stand({reason => 'entry'});
    }
    my $seen = %ff_watches ? ff_seen() : undef;
    my @hit = map { $_->{number} } grep { ff_holds($_) } values %{$marked || {}};
    if (!@hit && !$seen) {
        return if $ff_mode eq '' || ($ff_mode ne 'into' && $ff_calls > $ff_target);
        return if $ff_mode ne 'into' && $ff_calls == $ff_target && ff_depth() > $ff_depth;
        return if $ff_mode eq 'into' && ff_in_header($line);
    }
    ff_stand({numbers => \@hit, $seen ? (reason => 'watchpoint', watch => $seen) : ()});
}

sub ff_pause {
    return if $ff_gone;
    if ($$ != $ff_pid) { ff_leave(); return }
    if ($ff_evaluating) { $ff_evaluating = 0; die "it was interrupted\n" }
    if ($ff_busy || $ff_first) { $ff_pending = 1; return }
    $ff_args = undef;
    my @kept = ff_keep();
    ff_stand({reason => 'pause'});
    ($@, $!, $?, $^E) = @kept;
}

sub ff_die {
    my ($error) = @_;
    return if $ff_busy || $ff_gone || $ff_first || $$ != $ff_pid || !defined $^S;
    my @wanted = grep { defined } $ff_filters{raised}, $^S ? () : $ff_filters{uncaught};
    return if !grep { ff_is_one_of($error, @$_) } @wanted;
    my $caught = $^S;
    $ff_args = undef;
    my @kept = ff_keep();
    $ff_error = {object => $error, caught => $caught};
    ff_stand({reason => 'exception'});
    $ff_error = undef;
    ($@, $!, $?, $^E) = @kept;
}

# The program has a handler of its own in the place of ours, and this may be a call of it.
sub ff_die_in_handler {
    my ($called, $error) = @_;
    my $handler = $SIG{__DIE__};
    return if ref $handler && $handler == \&ff_die;
    no strict 'refs';
    my $name = ref $handler || $handler =~ /::/ ? $handler : "main::$handler";
    return if !defined &$name || \&$name != (ref $called ? $called : \&$called);
    local $ff_calls = $ff_calls - 1;
    ff_die($error);
}

sub ff_is_one_of {
    my ($error, @types) = @_;
    return 1 if !@types;
    my $class = Scalar::Util::blessed($error);
    return defined $class && grep { $class->isa($_) } @types;
}

# Take commands until one lets the program go.
sub ff_stand {
    my ($stop) = @_;
    $single = 0;
    # What the program wants to do about signals waits until it runs: it might die of them, here.
    my @theirs = grep { my $set = $SIG{$_}; defined $set && ff_is_handler($set) } ff_signals();
    {
        local $ff_busy = 1;
        local @SIG{'PIPE', @theirs} = ('IGNORE', map { my $name = $_; sub { $ff_late{$name} = 1 } } @theirs);
        while (1) {
            ff_tell($stop);
            1 while ff_obey();
            last if !$ff_pending || $ff_gone;
            ($ff_pending, $stop) = (0, {reason => 'pause'});
        }
    }
    ff_forget();
    kill $_ => $$ for grep { delete $ff_late{$_} } sort keys %ff_late;
}

sub ff_signals { return grep { !/\A(?:URG|WINCH|PIPE|__\w+__)\z/ } keys %SIG }

sub ff_is_handler { my ($set) = @_; return ref $set || $set !~ /\A(?:|DEFAULT|IGNORE)\z/ }

sub ff_tell {
    my ($stop) = @_;
    ff_flush();
    my ($here) = ff_stack();
    my %told = (reason => $stop->{reason}, numbers => $stop->{numbers} || [], watch => $stop->{watch},
        path => ff_path($here->{file}), line => $here->{line}, function => $here->{function});
    $told{returned} = ff_result($stop->{from}, $stop->{value}) if exists $stop->{value} && $stop->{value};
    $told{bound} = [splice @ff_bound];
    ff_send('@stop ' . ff_json(\%told) . "\n");
}

# Do what one command says; false when that is to run.
sub ff_obey {
    ff_send('perl> ');
    my ($command, @words) = ff_hear();
    if (!defined $command) { ff_leave(); return 0 }
    if ($command eq 'go') { ff_go(@words); return 0 }
    # It was sent to a program that stood, and an interrupt before it was too.
    $ff_pending = 0;
    return 1 if $command eq '';
    my $answer = eval { no strict 'refs'; &{"DB::do_$command"}(@words) };
    $answer = '*** ' . ff_words($@) if !defined $answer;
    ff_send("$answer\n");
    return 1;
}

sub ff_go {
    my ($mode) = @_;
    $ff_mode = $mode eq 'run' ? '' : $mode;
    ($ff_target, $ff_depth) = ($ff_calls, ff_depth());
    if ($mode eq 'out') {
        my ($here) = ff_stack();
        if (defined $here->{sub}) { $ff_target-- }
        elsif ($here->{main}) { $ff_mode = '' }
        else { ($ff_mode, $ff_depth) = ('over', $ff_depth - 1) }
    }
    $single = $ff_mode ne '' || %ff_watches ? 1 : 0;
}

sub ff_flush {
    my $chosen = select;
    for my $stream (\*STDOUT, \*STDERR) {
        next if tied *$stream || !defined fileno $stream;
        select $stream;
        ($|, my $was) = (1, $|);
        $| = $was;
    }
    select $chosen;
}

# --- the stack ----------------------------------------------------------------------------------

# Where it stands, and no more.
sub ff_top {
    my ($level, @at) = (0);
    while (@at = caller $level) { last if $at[0] ne 'DB'; $level++ }
    return {file => $at[1], line => $at[2], package => $at[0], hints => $at[8]};
}

# Innermost first. The block of an eval is part of the function that it stands in.
sub ff_stack {
    my ($level, @stack) = (0);
    my (@at, @args);
    while (@at = caller $level) { last if $at[0] ne 'DB'; $level++ }
    # Nobody's line has called what runs at the end.
    while (@at && $at[2]) {
        my $frame = {file => $at[1], line => $at[2], package => $at[0], hints => $at[8]};
        my @of;
        while (@of = caller ++$level) { last if $of[3] ne '(eval)' || defined $of[6] || $of[7] }
        $frame->{sub} = @of && $of[3] ne '(eval)' ? $of[3] : undef;
        $frame->{function} = !@of ? '<main>' : $of[3] ne '(eval)' ? $of[3] : $of[7] ? "require $of[6]" : 'eval';
        $frame->{function} =~ s/\Amain::|(?<=__ANON__)\[.*\]\z//gs;
        $frame->{main} = !@of;
        $frame->{args} = @of && $of[4] ? [@DB::args] : [];
        push @stack, $frame;
        @at = @of;
    }
    ff_give_code(@stack);
    $stack[0]{args} = $ff_args if @stack && $ff_args;
    return @stack;
}

# What each frame runs: by the calls that led there, where they are as many; else by name.
sub ff_give_code {
    my (@stack) = @_;
    my @calls = grep { !ff_is_native($_) } reverse @ff_called[1 .. $ff_calls];
    my @functions = grep { defined $_->{sub} } @stack;
    my $sure = @calls == @functions;
    for my $frame (@stack) {
        if ($frame->{main}) { $frame->{code} = B::main_cv() }
        elsif (defined $frame->{sub}) { $frame->{code} = ff_code_of($sure ? shift @calls : $frame->{sub}) }
    }
    my %depth;
    for my $frame (reverse grep { $_->{code} } @stack) { $frame->{depth} = ++$depth{${$frame->{code}}} }
}

sub ff_code_of {
    my ($called) = @_;
    no strict 'refs';
    return bless \(my $address = $called), 'B::CV' if $called =~ /\A\d+\z/;
    return defined &{$called} ? B::svref_2object(\&{$called}) : undef;
}

# Functions of libraries in C are called, but have no frame.
sub ff_is_native { my $code = ff_code_of($_[0]); return $code && $code->XSUB }

sub ff_depth {
    my ($level, $depth) = (0, 0);
    while (my @of = caller $level++) {
        $depth++ if $of[0] ne 'DB' && index($of[3], 'DB::') && ($of[3] ne '(eval)' || defined $of[6] || $of[7]);
    }
    return $depth;
}

require(__FILE__ =~ s/main_probe/places_probe/r);
require(__FILE__ =~ s/main_probe/looking_probe/r);
ff_begin();
1;
