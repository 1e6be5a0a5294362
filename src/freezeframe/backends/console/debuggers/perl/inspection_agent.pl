# Variables and values of a stopped program. The rules of `agent.pl` apply.
# Inspection runs no code of the program: no overloaded operators, no tied variables.

package DB;
use utf8;
use strict;
use warnings;
no warnings qw(once recursion);
no overloading;
# The minimal Perl package of some systems lacks this module.
eval { require B; 1 } or die "freezeframe: this Perl has no module B: its package perl-base is not enough.\n";
require Scalar::Util;
require overload;
require re;

our ($single, $sub, %sub, @dbline, %dbline, @ff_saved, $ff_args, $ff_error, %ff_watches, $ff_evaluating);
our ($ff_code, @ff_result, %ff_refs, @ff_kept, %ff_cops, @ff_stack);
# Limits: characters of a variable's text and of an evaluated expression's; levels and parts of one value.
our ($ff_short, $ff_long, $ff_deep, $ff_many) = (1_000, 60_000, 6, 2_000);
our $ff_last_watch = 0;

sub ff_forget { @ff_stack = @ff_kept = @ff_result = %ff_refs = () }

sub ff_frame {
    my ($level) = @_;
    @ff_stack = ff_stack() if !@ff_stack;
    die "there is no such frame\n" if $level > $#ff_stack;
    return $ff_stack[$level];
}

# --- names --------------------------------------------------------------------------------------

# Return line and sequence number of every statement of a function, in order.
sub ff_statements {
    my ($code) = @_;
    return @{$ff_cops{$$code} ||= do {
        my @found;
        my @left = ($$code == ${B::main_cv()} ? B::main_root() : $code->ROOT);
        while (my $op = pop @left) {
            next if !$$op;
            push @found, [$op->line, $op->cop_seq] if $op->isa('B::COP');
            next if !($op->flags & B::OPf_KIDS());
            for (my $kid = $op->first; $$kid; $kid = $kid->sibling) { push @left, $kid }
        }
        [sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } @found];
    }};
}

# Return name and pad index of the lexicals visible at a frame's line, including `our` variables; and whether only
# the later ones of several statements on the line see them.
sub ff_names {
    my ($frame) = @_;
    my $code = $frame->{code};
    return () if !$code || !$code->can('PADLIST') || ref $code->PADLIST eq 'B::SPECIAL';
    my @before = grep { $_->[0] <= $frame->{line} } ff_statements($code);
    my @same = grep { $_->[0] == $frame->{line} } @before;
    my ($seq, $last) = map { $_ ? $_->[1] : 0 } @same ? @same[0, -1] : @before[-1, -1];
    my ($names, %found) = $code->PADLIST->ARRAYelt(0);
    my $number = -1;
    for my $each ($names->ARRAY) {
        $number++;
        next if $each->isa('B::SPECIAL') || !defined $each->PV || $each->PV !~ /\A[\$\@%]\w/;
        my $captured = $each->FLAGS & B::SVf_FAKE();
        my ($from, $to) = $captured ? (0, ~0) : ($each->COP_SEQ_RANGE_LOW, $each->COP_SEQ_RANGE_HIGH);
        my ($now, $later) = map { $captured || $_ > $from && $_ <= $to } $seq, $last;
        next if !$now && !$later || $found{$each->PV} && $found{$each->PV}[1] > $from;
        $found{$each->PV} = [$number, $from, $each->FLAGS & 0x10, !$now];
    }
    return map { [$_, @{$found{$_}}[0, 2, 3]] } sort { $found{$a}[0] <=> $found{$b}[0] } keys %found;
}

# Without a reachable pad (a file, an eval): what the source text has declared so far.
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

# Return name and reference of every visible lexical.
sub ff_variables {
    my ($level) = @_;
    my $frame = ff_frame($level);
    my @named = grep { !$_->[2] } ff_names($frame);
    if ($level == 0) {
        my @names = @named ? map { $_->[0] } @named : $frame->{code} ? () : ff_declared($frame);
        # Perl itself knows what the statement sees; without `strict` another name would be a global variable.
        my @refs;
        @refs = eval { ff_evaluate('(' . join(', ', map { "\\$_" } @names) . ')', 0) } if !grep { $_->[3] } @named;
        @refs = map { eval { (ff_evaluate("do { use strict 'vars'; \\$_ }", 0))[0] } } @names if @refs != @names;
        return grep { ref $_->[1] } map { [$names[$_], $refs[$_]] } 0 .. $#names;
    }
    return () if !@named || !$frame->{depth};
    my $pad = $frame->{code}->PADLIST->ARRAYelt($frame->{depth});
    my @found;
    for my $each (@named) {
        my $ref = eval { $pad->ARRAYelt($each->[1])->object_2svref };
        push @found, [$each->[0], $ref] if ref $ref && (!$each->[3] || ff_has_value($ref));
    }
    return @found;
}

# Perl clears a lexical at the end of its scope: one with a value was reached.
sub ff_has_value {
    my ($ref) = @_;
    my $kind = Scalar::Util::reftype($ref);
    return 1 if defined ff_tied($ref);
    return $kind eq 'ARRAY' ? @$ref > 0 : $kind eq 'HASH' ? %$ref ? 1 : 0 : $kind eq 'REF' || defined $$ref;
}

# Return the names of a function's arguments: from its signature, or from the lines that unpack them.
sub ff_arguments {
    my ($frame) = @_;
    my $lines = defined $frame->{sub} ? ff_lines_of($frame) : undef;
    return [] if !$lines || !$main::{"_<$lines->[0]"};
    local *dbline = $main::{"_<$lines->[0]"};
    my ($from, $to) = @$lines[1, 2];
    my $text = join '', map { defined $dbline[$_] ? $dbline[$_] : '' } $from .. ($to < $from + 20 ? $to : $from + 20);
    $text =~ s/#.*//g;
    return [] if $text !~ /\bsub\b\s*[\w:]*\s*(?:\(([^)]*)\))?[^{]*\{(.*)/s;
    my ($signature, $body) = ($1, $2);
    return [$signature =~ /[\$\@%]\w+/g] if defined $signature && $signature =~ /[\$\@%]\w/;
    my @names;
    my $all = qr/(\([^)]*\)|[\@%]\w+)\s*=\s*\@_\s*;/;
    my $one = qr/(\$\w+)\s*=\s*(?:shift\s*(?:\(?\s*(?:\@_)?\s*\)?)?|\$_\[\d+\])\s*(?:(?:\/\/|\|\|)[^;]*)?;/;
    while ($body =~ /\G\s*my\s*(?:$all|$one)/g) { push @names, (defined $1 ? $1 : $2) =~ /[\$\@%]\w+/g }
    return \@names;
}

sub ff_lines_of {
    my ($frame) = @_;
    my @ranges = grep { defined } $sub{$frame->{sub}};
    @ranges = grep { /\A\Q$frame->{file}\E:(\d+)-(\d+)\z/ && $1 <= $frame->{line} && $frame->{line} <= $2 }
        map { $sub{$_} } grep { /__ANON__\[/ } keys %sub if !@ranges;
    return @ranges == 1 && $ranges[0] =~ /\A(.*):(\d+)-(\d+)\z/s ? [$1, $2, $3] : undef;
}

# --- expressions --------------------------------------------------------------------------------

sub ff_evaluate {
    my ($expression, $level, $context) = @_;
    my $frame = $level ? ff_frame($level) : ff_top();
    my $hints = $frame->{hints} || 0;
    utf8::decode($expression) if $hints & 0x00800000;
    my $head = 'BEGIN { $^H = ' . ($hints & ~0x20000) . "; \${^WARNING_BITS} = undef; } no warnings; package $frame->{package}; ";
    if ($level > 0) {
        %ff_refs = map { @$_ } ff_variables($level);
        my $aliases = join ' ', map { "\\my $_ = \$DB::ff_refs{'$_'};" } sort keys %ff_refs;
        my $declarations = join ' ', map { "our $_->[0];" } grep { $_->[2] } ff_names($frame);
        $head = "use feature 'refaliasing'; no warnings; $aliases $head $declarations";
    }
    $ff_code = "$head(\$\@, \$!, \$?) = \@DB::ff_saved;\n#line 1 \"(expression)\"\n$expression\n;";
    my ($failed, @result);
    # At level 0, `@_` is what `DB` was given: a call of it has that as its own.
    my @given = $level ? @{$frame->{args}} : ();
    {
        local ($ff_evaluating, $@) = (1, '');
        local $SIG{__WARN__} = sub { };
        local $SIG{__DIE__} = 'DEFAULT';
        @ff_result = ();
        my $here = $level ? \&FreezeframeClean::run : \&ff_here;
        my $args = $level ? \@given : $ff_args || ff_frame(0)->{args};
        if (($context || '') eq 'scalar') { $ff_result[0] = $here->(@$args) }
        else { @ff_result = $here->(@$args) }
        $failed = $@;
        @result = splice @ff_result;
    }
    die(ref $failed ? ff_message($failed) . "\n" : $failed) if ref $failed || length $failed;
    return @result;
}

# In the package DB, an eval runs in the scope of the stopped function.
sub ff_here { eval $ff_code }

sub ff_message {
    my ($error) = @_;
    my $class = Scalar::Util::blessed($error);
    return ref $error ? ff_text($error, 300) : $error if !defined $class;
    use overloading;
    my $text = eval { overload::Method($error, '""') ? "$error" : $error->can('message') ? $error->message : '' };
    return defined $text && length $text ? "$text" : ff_text($error, 300);
}

# Return the text of an exception without running code of the program.
sub ff_stated {
    my ($error) = @_;
    return ref $error ? ff_text($error, 300) : $error if !defined Scalar::Util::blessed($error);
    if (Scalar::Util::reftype($error) eq 'HASH' && !defined ff_tied($error)) {
        for my $name (qw(message msg text -text error)) {
            next if !exists $error->{$name} || defined ff_tied(\$error->{$name});
            return $error->{$name} if defined $error->{$name} && !ref $error->{$name};
        }
    }
    return ff_text($error, 300);
}

# Return an error message of Perl without the location in our own text.
sub ff_error_text {
    my ($error) = @_;
    $error = "$error";
    $error =~ s/ at (?:\(eval \d+\)(?:\[[^\]]*\])?|\(expression\)|\S*agent\.pl) line \d+(?:, <\S*> (?:line|chunk) \d+)?//g;
    $error =~ s/\s*\n\s*/ /g;
    $error =~ s/ \(did you forget to declare "(?:my|our|state) [^)]*\)//g;
    $error =~ s/[.\s]+\z//;
    return $error;
}

sub ff_is_whole { my ($expression) = @_; return $expression =~ /\A\s*([\@%][\w:]+)\s*\z/ ? $1 : undef }

sub ff_is_plain { my ($expression) = @_; return $expression =~ /\A\s*\$[\w:]+\s*\z/ }

sub ff_is_bare { my ($expression) = @_; return $expression =~ /\A\s*([A-Za-z_]\w*)\s*\z/ ? $1 : undef }

sub do_eval {
    my ($level, $expression, $how) = @_;
    if ($how eq 'truth') {
        my ($value) = ff_evaluate($expression, $level, 'scalar');
        return $value ? '1' : '0';
    }
    my $whole = ff_is_whole($expression);
    if (defined $whole) {
        my ($ref) = ff_evaluate("\\$whole", $level);
        return ff_json(ff_value($expression, $ref, $whole, $ff_long));
    }
    my @result = eval { ff_evaluate($expression, $level) };
    die ff_error_text($@) . ff_suggestion($expression, $level) . "\n" if $@;
    ff_flush();
    if ($how eq 'text' && @result == 1) {
        my $is_string = !ref $result[0] && B::svref_2object(\$result[0])->FLAGS & B::SVf_POK();
        return ff_json({text => $is_string ? $result[0] : ff_text($result[0], $ff_short)});
    }
    push @ff_kept, @result == 1 ? \$result[0] : \@result;
    my $kept = "\$DB::ff_kept[$#ff_kept]";
    my $name = ff_is_plain($expression) ? $expression : @result == 1 ? "\${$kept}" : "\@{$kept}";
    return ff_json(ff_value($expression, $ff_kept[-1], $name, $ff_long));
}

# Accept a variable without its sigil, as in other languages.
sub ff_suggestion {
    my ($expression, $level) = @_;
    my $name = ff_is_bare($expression);
    return '' if !defined $name;
    my @similar = grep { substr($_, 1) eq $name } map { $_->[0] } ff_variables($level);
    return @similar ? "; there is $similar[0]" : '';
}

# Return the value of the function that a step out has left.
sub ff_result {
    my ($called, $ref) = @_;
    my $code = ff_code_of($called);
    my $name = $called =~ /\A\d+\z/ && $code ? ff_name_of($code) : $called;
    $name =~ s/\Amain:://;
    push @ff_kept, $ref;
    my $kept = "\$DB::ff_kept[$#ff_kept]";
    return ff_value($name, $ref, ref $ref eq 'ARRAY' ? "\@{$kept}" : "\${$kept}", $ff_short);
}

# --- answers ------------------------------------------------------------------------------------

sub do_frames {
    my ($start, $count) = @_;
    ff_frame(0);
    my $end = $start + $count - 1;
    $end = $#ff_stack if $end > $#ff_stack;
    return ff_json([map { {function => $_->{function}, path => ff_path($_->{file}), line => $_->{line},
        module => $_->{package}, library => ff_is_library(ff_absolute($_->{file})) ? 1 : 0} } @ff_stack[$start .. $end]]);
}

sub do_locals {
    my ($level) = @_;
    my $frame = ff_frame($level);
    my @variables = ff_variables($level);
    my @values = map { ff_value($_->[0], $_->[1], $_->[0], $ff_short) } @variables;
    my $arguments = ff_arguments($frame);
    my %is = map { ($_ => 1) } @$arguments;
    # The function has not unpacked its arguments yet.
    if (defined $frame->{sub} && @{$frame->{args}} && !grep { $is{$_->[0]} && ff_is_set($_->[1]) } @variables) {
        unshift @values, ff_value('@_', $frame->{args}, '@_', $ff_short);
        $arguments = ['@_', @$arguments];
    }
    return ff_json({values => \@values, arguments => $arguments});
}

sub ff_is_set { my ($ref) = @_; my $type = ref $ref; return $type eq 'ARRAY' ? @$ref : $type eq 'HASH' ? scalar(%$ref) : defined $$ref }

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
            if tied ${*{$glob}{SCALAR}} || defined ${*{$glob}{SCALAR}};
        push @values, ff_value("\@$name", *{$glob}{ARRAY}, "\@${package}::$name", $ff_short) if *{$glob}{ARRAY};
        push @values, ff_value("%$name", *{$glob}{HASH}, "%${package}::$name", $ff_short) if *{$glob}{HASH};
    }
    return ff_json({values => \@values});
}

sub do_children {
    my ($level, $expression, $start, $count) = @_;
    my $all = $expression =~ /\A[\@%]/;
    my ($ref) = ff_evaluate($all ? "\\$expression" : "\\($expression)", $level);
    my $inner = $all ? $ref : $$ref;
    my $type = Scalar::Util::reftype($inner) || '';
    my ($prefix, $arrow) = ($expression, '->');
    if ($all) {
        my $name = substr $expression, 1;
        ($prefix, $arrow) = $name =~ /\A\{(.*)\}\z/s ? ($1, '->') : ("\$$name", '');
    }
    my @found;
    if ($type eq 'ARRAY') {
        my $end = $count eq '-' ? $#$inner : $start + $count - 1;
        $end = $#$inner if $end > $#$inner;
        @found = map { ff_value("[$_]", ff_element($inner, $_), "$prefix${arrow}[$_]", $ff_short) } $start .. $end;
    }
    elsif ($type eq 'HASH') {
        my @keys = ff_keys($inner);
        my $end = $count eq '-' ? $#keys : $start + $count - 1;
        $end = $#keys if $end > $#keys;
        @found = map { ff_value('{' . ff_key($_) . '}', \$inner->{$_}, "$prefix${arrow}{" . ff_quoted($_) . '}', $ff_short) }
            @keys[$start .. $end];
    }
    elsif ($type =~ /\A(?:SCALAR|REF|VSTRING|LVALUE)\z/) {
        @found = (ff_value('$$', $inner, "\${$expression}", $ff_short));
    }
    return ff_json(\@found);
}

# An expression with a missing element would create it.
sub ff_element { my ($array, $index) = @_; return exists $array->[$index] ? \$array->[$index] : \undef }

sub do_exception {
    return 'null' if !$ff_error;
    my $error = $ff_error->{object};
    my $message = $ff_error->{message} // ff_stated($error);
    $message =~ s/(?: at \S.* line \d+(?:, <\S*> (?:line|chunk) \d+)?\.?)?\s*\z//s;
    ff_frame(0);
    my @lines = map { {path => ff_path($_->{file}), line => $_->{line}, function => $_->{function}} } @ff_stack;
    my $type = $ff_error->{type} // Scalar::Util::blessed($error) // (ref $error || 'die');
    my $mode = $ff_error->{failing} ? 'test-failing' : $ff_error->{caught} ? 'raised' : 'uncaught';
    return ff_json({type => $type, message => $message, mode => $mode,
        traceback => [reverse @lines]});
}

# --- watchpoints: the variable is compared before every statement -------------------------------

sub do_watch {
    my ($level, $expression, $condition) = @_;
    die "only variables and their parts can be watched\n" if $expression !~ /\A\s*[\$\@%]/;
    my $whole = ff_is_whole($expression);
    my ($ref, @more) = ff_evaluate(defined $whole ? "\\$whole" : "\\($expression)", $level);
    die "only variables and their parts can be watched\n" if !ref $ref || @more || B::svref_2object($ref)->REFCNT < 2;
    my $number = ++$ff_last_watch;
    $ff_watches{$number} = {number => $number, ref => $ref, condition => $condition, seen => ff_watched($ref)};
    return ff_json({number => $number});
}

sub do_unwatch { delete $ff_watches{$_[0]}; return '' }

sub ff_watched {
    my ($ref) = @_;
    return ff_text($$ref, $ff_short) if ref $ref ne 'ARRAY' && ref $ref ne 'HASH';
    return ff_listed($ref, '(', ')', $ff_short, {});
}

# Return the first watchpoint whose value has changed since the last statement, or is gone.
sub ff_seen {
    for my $number (sort { $a <=> $b } keys %ff_watches) {
        my $watch = $ff_watches{$number};
        my $now = ff_watched($watch->{ref});
        if ($now ne $watch->{seen}) {
            my $old = $watch->{seen};
            $watch->{seen} = $now;
            next if !ff_holds($watch);
            return {number => $number, old => $old, new => $now};
        }
        # The variable is gone when only our reference is left.
        next if B::svref_2object($watch->{ref})->REFCNT > 1;
        delete $ff_watches{$number};
        return {number => $number, old => $now, ended => 1};
    }
    return undef;
}

# --- values, in Perl syntax ---------------------------------------------------------------------

sub ff_value {
    my ($name, $ref, $expression, $room) = @_;
    my $type = Scalar::Util::reftype($ref);
    my ($inner, $kind, $tied) = ($ref, undef, ff_tied($ref));
    return {name => $name, text => "tied $tied", type => 'tied', count => 0, expression => $expression} if defined $tied;
    if ($type eq 'ARRAY' || $type eq 'HASH') { $kind = lc $type }
    else {
        $inner = $$ref;
        $kind = Scalar::Util::blessed($inner) // (ref $inner ? ref $inner : undef);
        $type = ref $inner ? Scalar::Util::reftype($inner) : '';
    }
    my $count = ref $inner && defined ff_tied($inner) ? 0
        : $type eq 'ARRAY' ? scalar @$inner : $type eq 'HASH' ? ff_count($inner)
        : $type =~ /\A(?:SCALAR|REF)\z/ ? 1 : 0;
    $count = 0 if defined $kind && $kind eq 'Regexp';
    my $text = defined $kind && ($kind eq 'array' || $kind eq 'hash')
        ? ff_listed($inner, '(', ')', $room, {}) : ff_text($inner, $room);
    return {name => $name, text => $text, type => $kind, count => $count, expression => $expression};
}

# Return the class of a tied variable: reading it would run code of the program.
sub ff_tied {
    my ($ref) = @_;
    my $type = Scalar::Util::reftype($ref) // '';
    my $behind = $type eq 'ARRAY' ? tied @$ref : $type eq 'HASH' ? tied %$ref
        : $type =~ /\A(?:SCALAR|REF|LVALUE|VSTRING)\z/ ? tied $$ref : undef;
    return defined $behind ? ref $behind || 'variable' : undef;
}

sub ff_count { my ($hash) = @_; return B::svref_2object($hash)->KEYS }

# Return the keys of a hash without resetting an `each` of the program over it.
sub ff_keys {
    my ($hash, $most) = @_;
    my ($left, @keys) = (0);
    my $under_way = B::svref_2object($hash)->RITER >= 0;
    if ($under_way) { $left++ while defined each %$hash }
    if (defined $most && ff_count($hash) > $most) {
        keys %$hash;
        while (@keys < $most) { push @keys, scalar each %$hash }
    }
    else { @keys = keys %$hash }
    keys %$hash;
    if ($under_way) { each %$hash for 1 .. ff_count($hash) - $left }
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

# Return a number with all its digits: Perl itself writes 15 of a float's.
sub ff_number {
    my ($value) = @_;
    my ($text) = grep { $_ == $value } "$value", map { sprintf "%.${_}g", $value } 16 .. 21;
    return $text // "$value";
}

sub ff_text {
    my ($value, $room, $seen) = @_;
    return 'undef' if !defined $value;
    if (!ref $value) {
        return "$value" if ref \$value eq 'GLOB';
        my $flags = B::svref_2object(\$value)->FLAGS;
        return ff_number($value) if !($flags & B::SVf_POK()) && $flags & (B::SVf_IOK() | B::SVf_NOK());
        return $value ? '1' : "''" if ff_is_bool($value);
        my $cut = length $value > $room;
        return ff_quoted($cut ? substr($value, 0, $room) : $value) . ($cut ? '…' : '');
    }
    my ($class, $type, $tied) = (Scalar::Util::blessed($value), Scalar::Util::reftype($value), ff_tied($value));
    $seen = {%{$seen || {}}};
    return ($class // $type) . '(…)' if $seen->{Scalar::Util::refaddr($value)}++;
    my $head = defined $class ? "$class " : '';
    return "${head}tied $tied" if defined $tied;
    if (defined $class && $class eq 'Regexp') { my ($pattern, $flags) = re::regexp_pattern($value); return "qr/$pattern/$flags" }
    return $head . ff_listed($value, '[', ']', $room, $seen) if $type eq 'ARRAY';
    return $head . ff_listed($value, '{', '}', $room, $seen) if $type eq 'HASH';
    if ($type eq 'CODE') {
        my $name = ff_name_of(B::svref_2object($value));
        $name =~ s/\Amain:://;
        return $name =~ /__ANON__/ ? "${head}sub {…}" : "$head\\&$name";
    }
    return "$head\\" . ff_text($$value, $room, $seen) if $type =~ /\A(?:SCALAR|REF|VSTRING|LVALUE)\z/;
    return "$head\\" . *$value if $type eq 'GLOB';
    return "$head$type";
}

# A boolean of Perl, which can be distinguished from a string since 5.36.
sub ff_is_bool { no strict 'refs'; no warnings; return defined &builtin::is_bool && &{\&{'builtin::is_bool'}}($_[0]) }

sub ff_name_of {
    my ($code) = @_;
    my $gv = $code->GV;
    return '__ANON__' if $gv->isa('B::SPECIAL');
    return $gv->STASH->NAME . '::' . $gv->NAME;
}

sub ff_listed {
    my ($value, $open, $close, $room, $seen) = @_;
    my $is_hash = Scalar::Util::reftype($value) eq 'HASH';
    return "$open$close" if !($is_hash ? ff_count($value) : @$value);
    return "$open…$close" if keys %$seen > $ff_deep;
    my @keys = $is_hash ? ff_keys($value, $ff_many) : (0 .. ($#$value > $ff_many ? $ff_many : $#$value));
    my $text = '';
    for my $key (@keys) {
        my $left = $room - length $text;
        if ($left <= 0) { $text .= ', …'; last }
        my $each = $is_hash ? \$value->{$key} : ff_element($value, $key);
        my $part = defined ff_tied($each) ? 'tied ' . ff_tied($each) : ff_text($$each, $left, $seen);
        $text .= (length $text ? ', ' : '') . ($is_hash ? ff_key($key) . ' => ' : '') . $part;
    }
    $text .= ', …' if !$is_hash && $#$value > $ff_many && substr($text, -1) ne '…';
    return "$open$text$close";
}

# --- JSON ---------------------------------------------------------------------------------------

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

1;
