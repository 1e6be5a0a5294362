# Runs inside the program's interpreter, under `perl -d`, in place of Perl's interactive debugger:
# commands arrive through one pipe, answers leave through another, and only the program uses the
# standard streams.
#
# A command is a name and its arguments; an argument that begins with an x is hexadecimal. An answer
# is a line of JSON, or `*** ` and an error message. Inspection of values: `inspection_agent.pl`;
# breakpoint locations: `breakpoints_agent.pl`.
#
# An evaluated expression sees the program's `$1` as long as nothing between `DB` and `ff_here`
# matches in its own block, so every match is in a function of its own. The program's `$/` must not
# even be made local: an interrupted read continues with the memory that was behind it.

# First in the file, so that an evaluated expression sees none of our lexicals.
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
our ($ff_mode, $ff_target, $ff_depth, $ff_cut, $ff_pipes);
our (%ff_breaks, %ff_at, %ff_entries, %ff_path, %ff_filters, %ff_watches, %ff_late, %ff_early);
# The depth of a call that stops at its first statement, and statements of its signature before that.
our ($ff_entering, $ff_before);
# The depth and the line of the last statement that was seen.
our $ff_here = '';

BEGIN {
    # At the prompt; evaluating for a command; running without a debugger; before the first line.
    ($ff_busy, $ff_evaluating, $ff_gone, $ff_first) = (0, 0, 0, 1);
    # An interrupt arrived at the prompt: the command to run may be on its way.
    $ff_pending = 0;
    # The current step: its kind, and the depth in calls and frames where it began.
    ($ff_mode, $ff_target, $ff_depth) = ('', 0, 0);
    # @ff_called holds the calls that have not returned: a name, or the address of an unnamed sub.
    $ff_calls = 0;
    ($ff_pid, $ff_last, $ff_buffer) = ($$, 0, '');
}

sub ff_begin {
    # Untaint through a match, for a program with taint checks (-T), here and in `ff_read_command`.
    my ($read, $write, $gentle) = delete($ENV{FREEZEFRAME_PIPES}) =~ /\A(\d+) (\d+) (\d+)\z/;
    ($ff_cut) = delete($ENV{FREEZEFRAME_CUT}) =~ /\A(.*)\z/s;
    my $before = delete $ENV{FREEZEFRAME_PERL5DB};
    if (defined $before) { $ENV{PERL5DB} = $before } else { delete $ENV{PERL5DB} }
    $^P |= 0x80;    # report `goto &function`
    require Cwd;
    require Fcntl;
    require POSIX;
    open $ff_in, '<&=', $read or die "freezeframe: no pipe to read from: $!\n";
    open $ff_out, '>&=', $write or die "freezeframe: no pipe to write to: $!\n";
    for my $pipe ($ff_in, $ff_out) {
        binmode $pipe;
        fcntl $pipe, Fcntl::F_SETFD(), Fcntl::FD_CLOEXEC();
    }
    $ff_pipes = ff_identity();
    $SIG{WINCH} = \&ff_pause;
    # A system call of the program is restarted after this signal and does not return EINTR.
    my $action = POSIX::SigAction->new(\&ff_pause, POSIX::SigSet->new, POSIX::SA_RESTART());
    $action->safe(1);
    POSIX::sigaction($gentle, $action);
    $SIG{__DIE__} = \&ff_die;
    ff_send("\@hello $]\n");
}

# Another thread of the program is another interpreter: it runs without a debugger.
sub CLONE { ($ff_gone, $single) = (1, 0) }

# --- pipes --------------------------------------------------------------------------------------

sub ff_send {
    my ($text) = @_;
    return if $ff_gone;
    utf8::encode($text) if utf8::is_utf8($text);
    return ff_cut() if ff_identity() ne $ff_pipes;
    while (length $text) {
        my $sent = syswrite $ff_out, $text;
        next if !defined $sent && $!{EINTR};
        return ff_leave() if !$sent;
        substr $text, 0, $sent, '';
    }
}

# What our descriptors are: a program that has closed them may have opened files in their place.
sub ff_identity {
    return join ' ', map { my @found = POSIX::fstat($_); @found ? "$found[0].$found[1]" : '' } fileno $ff_in, fileno $ff_out;
}

# The program has closed our pipes, and a stop cannot be reported: leave word of it.
sub ff_cut {
    if ($$ == $ff_pid && open my $file, '>', $ff_cut) { close $file }
    ff_leave(1);
}

sub ff_read_command {
    return () if $ff_gone;
    while (index($ff_buffer, "\n") < 0) {
        my $got = sysread $ff_in, $ff_buffer, 65_536, length $ff_buffer;
        next if !defined $got && $!{EINTR};
        return () if !$got;
    }
    my $end = index $ff_buffer, "\n";
    my $line = substr $ff_buffer, 0, $end;
    substr $ff_buffer, 0, $end + 1, '';
    my @arguments = split / /, $line;
    return map { /\A(x?)(.*)\z/s && $1 ? pack('H*', $2) : $2 } @arguments ? @arguments : '';
}

# The pipes are closed, or this is a child: the program continues without a debugger.
sub ff_leave {
    my ($closed) = @_;
    ($ff_gone, $single) = (1, 0);
    for my $break (values %ff_breaks) { ff_mark(@$_, 0) for @{$break->{locations}} }
    $SIG{__DIE__} = 'DEFAULT' if ref $SIG{__DIE__} && $SIG{__DIE__} == \&ff_die;
    for my $name ('URG', 'WINCH') { $SIG{$name} = 'DEFAULT' if ref $SIG{$name} && $SIG{$name} == \&ff_pause }
    return if $closed;    # the descriptors are the program's now
    close $ff_in;
    close $ff_out;
}

# --- calls --------------------------------------------------------------------------------------

# Perl calls this in place of every function, with its name in $sub.
sub sub {
    no strict 'refs';
    local $ff_calls = $ff_calls + 1;
    $ff_called[$ff_calls] = ref $sub ? 0 + $sub : $sub;
    if (@_ == 1 && !wantarray && !$ff_busy && $SIG{__DIE__}) { ff_die_in_handler($sub, $_[0]) }
    if ($sub eq 'Test2::Hub::process') { ff_sent($_[1]) }
    my $enters = %ff_entries && !ref $sub && $ff_entries{$sub} && !$ff_busy ? 1 : 0;
    ($ff_entering, $ff_before) = ($ff_calls, (ff_body(ff_code_of($sub)))[1]) if $enters;
    # A step into continues in the callee; any other resumes when the callee has returned or died.
    local $single = $enters if $single && $ff_mode ne 'into' && !%ff_watches;
    $single = 1 if $enters;
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

# `goto &function` has replaced one function by another.
sub goto { $ff_called[$ff_calls] = ref $sub ? 0 + $sub : $sub }

# The step out is complete: stop in the middle of the line that called the function.
sub ff_returned {
    my ($value) = @_;
    return if $ff_busy || $ff_gone || $$ != $ff_pid;
    my $name = $ff_called[$ff_calls];
    local $ff_calls = $ff_calls - 1;
    $ff_args = undef;
    my @kept = ff_keep();
    ff_stop({reason => 'step', value => $value, from => $name}) if ff_top()->{line};
    ($@, $!, $?, $^E) = @kept;
}

# --- stops --------------------------------------------------------------------------------------

# Perl calls this before statements: with $single before every one, else before those with a breakpoint.
sub DB {
    return if $ff_busy || $ff_gone;
    my ($package, $file, $line) = caller;
    my $marked = $ff_at{$file} && $ff_at{$file}{$line};
    my ($before, $here) = ($ff_here, "$ff_calls $file:$line");
    $marked = undef if $single && $marked && $here eq $before && ff_has_several($line);
    $ff_here = $here;
    if (%ff_entries) {
        my $entered = $ff_entering && $ff_entering == $ff_calls;
        return if $entered && $ff_before-- > 0;
        $ff_entering = 0 if $entered;
        $marked = ff_marked($marked, $entered);
    }
    if (!$marked && !%ff_watches && !$ff_first) {
        if ($ff_mode eq '') { $single = 0; return }
        return if $ff_mode ne 'into' && $ff_calls > $ff_target;
    }
    if ($$ != $ff_pid) { ff_leave(); return }
    $ff_args = \@_;
    my @kept = ff_keep();
    ff_look($file, $line, $marked);
    # What the stop held would be destroyed later than without a debugger.
    ($ff_args, @ff_saved) = ();
    ($@, $!, $?, $^E) = @kept;
}

# A step sees every statement of a line: the later ones are no further hits of its breakpoints.
sub ff_has_several {
    my ($line) = @_;
    my ($frame) = ff_stack();
    return $frame->{code} && 1 < grep { $_->[0] == $line } ff_statements($frame->{code});
}

# Save the program's error variables. They are magic: `local` would clear them.
sub ff_keep {
    @ff_saved = ($@, $!, $?);
    return ($@, $! + 0, $?, $^E + 0);
}

# Stop before a statement, if a breakpoint, a watchpoint or a step asks for it.
sub ff_look {
    my ($file, $line, $marked) = @_;
    if ($ff_first) {
        $ff_first = 0;
        ff_loaded($_) for ff_files();
        %ff_early = map { ($_ => 1) } grep { $_ ne $file } ff_files();
        return ff_stop({reason => 'entry'});
    }
    my $seen = %ff_watches ? ff_seen() : undef;
    my @hit = map { $_->{number} } grep { ff_holds($_) } values %{$marked || {}};
    if (!@hit && !$seen) {
        return if $ff_mode eq '' || ($ff_mode ne 'into' && $ff_calls > $ff_target);
        return if $ff_mode ne 'into' && $ff_calls == $ff_target && ff_depth() > $ff_depth;
        return if $ff_mode eq 'into' && ff_in_header($line);
    }
    ff_stop({numbers => \@hit, $seen ? (reason => 'watchpoint', watch => $seen) : ()});
}

sub ff_pause {
    return if $ff_gone;
    if ($$ != $ff_pid) { ff_leave(); return }
    if ($ff_evaluating) { $ff_evaluating = 0; die "it was interrupted\n" }
    if ($ff_busy || $ff_first) { $ff_pending = 1; return }
    # The last statement has ended: the program is about to exit.
    return if !ff_top()->{line};
    $ff_args = undef;
    my @kept = ff_keep();
    ff_stop({reason => 'pause'});
    ($@, $!, $?, $^E) = @kept;
}

sub ff_die {
    my ($error) = @_;
    return if $ff_busy || $ff_gone || $ff_first || $$ != $ff_pid || !defined $^S;
    return if ff_dies_again();
    my $failing = $^S && $ff_filters{uncaught} && ff_fails_subtest();
    my $caught = $^S && !$failing;
    my @active = grep { defined } $ff_filters{raised}, $caught ? () : $ff_filters{uncaught};
    return if !grep { ff_is_one_of($error, @$_) } @active;
    $ff_args = undef;
    my @kept = ff_keep();
    $ff_error = {object => $error, caught => $caught, failing => $failing};
    ff_stop({reason => 'exception'});
    $ff_error = undef;
    ($@, $!, $?, $^E) = @kept;
}

# The program has replaced our handler with its own, and this may be a call of that handler.
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

# Take commands until one resumes the program.
sub ff_stop {
    my ($stop) = @_;
    $single = 0;
    # The program's signal handlers wait until it resumes: a handler might die here.
    my @handled = grep { my $set = $SIG{$_}; defined $set && ff_is_handler($set) } ff_signals();
    {
        local $ff_busy = 1;
        local @SIG{'PIPE', @handled} = ('IGNORE', map { my $name = $_; sub { $ff_late{$name} = 1 } } @handled);
        while (1) {
            ff_report($stop);
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

sub ff_report {
    my ($stop) = @_;
    ff_flush();
    my ($here) = ff_stack();
    my %report = (reason => $stop->{reason}, numbers => $stop->{numbers} || [], watch => $stop->{watch},
        path => ff_path($here->{file}), line => $here->{line}, function => $here->{function});
    $report{returned} = ff_result($stop->{from}, $stop->{value}) if exists $stop->{value} && $stop->{value};
    $report{bound} = [splice @ff_bound];
    ff_send('@stop ' . ff_json(\%report) . "\n");
}

# Run one command; return false if it resumes the program.
sub ff_obey {
    ff_send('perl> ');
    my ($command, @arguments) = ff_read_command();
    if (!defined $command) { ff_leave(); return 0 }
    if ($command eq 'go') { ff_go(@arguments); return 0 }
    # The command was sent to a stopped program, and an interrupt before it was too.
    $ff_pending = 0;
    return 1 if $command eq '';
    my $answer = eval { no strict 'refs'; &{"DB::do_$command"}(@arguments) };
    $answer = '*** ' . ff_error_text($@) if !defined $answer;
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

# The location of the stop, and no more.
sub ff_top {
    my ($level, @at) = (0);
    while (@at = caller $level) { last if $at[0] ne 'DB'; $level++ }
    return {file => $at[1], line => $at[2], package => $at[0], hints => $at[8]};
}

# Innermost first. The block of an eval belongs to the function around it.
sub ff_stack {
    my ($level, @stack) = (0);
    my (@at, @args);
    while (@at = caller $level) { last if $at[0] ne 'DB'; $level++ }
    # No line has called what runs at the end (END blocks).
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

# The function of each frame: from @ff_called if the depths match, else by name.
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

# XS functions are called, but have no frame.
sub ff_is_native { my $code = ff_code_of($_[0]); return $code && $code->XSUB }

sub ff_depth {
    my ($level, $depth) = (0, 0);
    while (my @of = caller $level++) {
        $depth++ if $of[0] ne 'DB' && index($of[3], 'DB::') && ($of[3] ne '(eval)' || defined $of[6] || $of[7]);
    }
    return $depth;
}

require(__FILE__ =~ s/\bagent(?=\.pl\z)/breakpoints_agent/r);
require(__FILE__ =~ s/\bagent(?=\.pl\z)/inspection_agent/r);
require(__FILE__ =~ s/\bagent(?=\.pl\z)/testing_agent/r);
ff_begin();
1;
