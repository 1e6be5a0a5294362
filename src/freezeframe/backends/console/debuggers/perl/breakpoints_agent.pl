# Breakpoint locations and exception filters. The rules of `agent.pl` apply.

package DB;
use utf8;
use strict;
use warnings;
no warnings qw(once recursion);
no overloading;

our (%sub, @dbline, %dbline, $ff_busy, $ff_gone, $ff_last, $ff_calls, @ff_called, @ff_bound);
our (%ff_breaks, %ff_at, %ff_entries, %ff_path, %ff_filters, %ff_early);

sub ff_files { return map { /\A_<(.*)/s ? $1 : () } keys %main:: }

sub ff_absolute {
    my ($file) = @_;
    return $ff_path{$file} if exists $ff_path{$file};
    return $ff_path{$file} = $file if $file =~ /\A\(eval/;
    my $path = eval { Cwd::abs_path($file) };
    return $ff_path{$file} = defined $path && -e $path ? $path : $file;
}

# Code from a string eval is in no file.
sub ff_path { my ($file) = @_; return $file =~ /\A\(eval/ ? undef : ff_absolute($file) }

sub ff_loaded {
    my ($file) = @_;
    my $path = ff_absolute($file);
    for my $break (grep { !@{$_->{locations}} && defined $_->{path} && $_->{path} eq $path } values %ff_breaks) {
        push @ff_bound, ff_made($break) if eval { ff_bind($break, $file, $break->{line}) };
    }
}

# Perl calls this when a file has been compiled, before it runs.
sub postponed {
    my ($what) = @_;
    return if ref \$what ne 'GLOB' || $ff_gone;
    my @kept = ($@, $! + 0);
    my $file = "$what";
    $file =~ s/\A\*main::_<//;
    ff_loaded($file);
    for my $break (grep { defined $_->{function} && !@{$_->{locations}} } values %ff_breaks) {
        push @ff_bound, ff_made($break) if eval { ff_bind_function($break) };
    }
    ($@, $!) = @kept;
}

sub ff_mark {
    my ($file, $line, $on) = @_;
    return if !$main::{"_<$file"};
    local *dbline = $main::{"_<$file"};
    no warnings;
    $dbline{$line} = $on;
}

sub ff_bind {
    my ($break, $file, $requested) = @_;
    my $line = $requested;
    {
        no warnings;
        local *dbline = $main::{"_<$file"};
        die "line $line has run already: its file was loaded before the program's first line\n"
            if $line <= $#dbline && ff_has_run($file, $line);
        $line++ while $line <= $#dbline && !(defined $dbline[$line] && $dbline[$line] != 0);
        die "there is no code at line $requested or after it\n" if $line > $#dbline;
    }
    push @{$break->{locations}}, [$file, $line];
    $ff_at{$file}{$line}{$break->{number}} = $break;
    ff_mark($file, $line, 1);
    ff_enter($break, $_) for grep { $sub{$_} eq "$file:$line-$line" } keys %sub;
    return 1;
}

# Stop where a function begins: of several statements on a line Perl marks the last one only.
sub ff_enter {
    my ($break, $function) = @_;
    $ff_entries{$function}{$break->{number}} = $break;
}

# The breakpoints of the line that a statement begins: `$entered` is the function of which it is the first.
sub ff_marked {
    my ($marked, $entered) = @_;
    my $own = $ff_entries{$ff_called[$ff_calls] // ''};
    return $marked if !$own;
    my %found = (map { $own->{$_} ? () : ($_ => $marked->{$_}) } keys %{$marked || {}});
    %found = (%found, %$own) if $entered;
    return %found ? \%found : undef;
}

# Return where the functions of a name begin. Without a package: in the program's own, else in any.
sub ff_bind_function {
    my ($break) = @_;
    my $name = $break->{function};
    $name =~ s/->/::/;
    my @found = grep { exists $sub{$_} } $name, "main::$name";
    @found = sort grep { /::\Q$name\E\z/ } keys %sub if !@found;
    my @locations = grep { defined } map { $sub{$_} =~ /\A(.*):(\d+)-(\d+)\z/s ? [$_, $1, $2, $3] : undef } @found;
    my @own = grep { !ff_is_library(ff_absolute($_->[1])) } @locations;
    for my $location (@own ? @own : @locations) {
        my ($function, $file, $from, $to) = @$location;
        my $code = ff_code_of($function);
        my $line = ($code && (ff_body($code))[0]) || $from;
        if ($from == $to || ($code && ff_is_shared($code, $line))) {
            push @{$break->{locations}}, [$file, $line];
            ff_enter($break, $function);
        } else {
            ff_bind($break, $file, $line);
        }
    }
    return scalar @locations;
}

sub ff_is_library { my ($path) = @_; return $path =~ m{\A/usr/.*/perl(?:5|-base)?/|/lib/perl5/|/(?:site|vendor)_perl/|/perls/perl-|\A\(eval} }

# Return the line of the first statement after a signature, and how many statements the signature has.
sub ff_body {
    my ($code) = @_;
    my $op = eval { $code->START } or return (undef, 0);
    my ($line, $before) = (undef, -1);
    while ($$op) {
        my $name = $op->name;
        if ($name =~ /\A(?:db|next)state\z/) { $line = $op->line; $before++ }
        elsif ($name !~ /\A(?:arg\w+|null|lineseq)\z/) { last }
        $op = $op->next;
    }
    return ($line, $before);
}

# Whether a function begins on a line that has other statements too, as far as it runs straight on.
sub ff_is_shared {
    my ($code, $line) = @_;
    my ($op, $count) = (eval { $code->START }, 0);
    while ($op && $$op) {
        $count++ if $op->name =~ /\A(?:db|next)state\z/ && $op->line == $line;
        $op = $op->next;
    }
    return $count > 1;
}

sub ff_in_header {
    my ($line) = @_;
    my ($frame) = ff_stack();
    my ($body) = defined $frame->{sub} && $frame->{code} ? ff_body($frame->{code}) : ();
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
    my $break = {number => ++$ff_last, path => $path, line => $line, condition => $condition, locations => []};
    my ($file) = grep { ff_absolute($_) eq $path } ff_files();
    ff_bind($break, $file, $line) if defined $file;
    $ff_breaks{$break->{number}} = $break;
    return ff_json(ff_made($break));
}

sub do_function {
    my ($name, $condition) = @_;
    my $break = {number => ++$ff_last, function => $name, condition => $condition, locations => []};
    ff_bind_function($break);
    $ff_breaks{$break->{number}} = $break;
    return ff_json(ff_made($break));
}

sub ff_made {
    my ($break) = @_;
    my ($first, @others) = @{$break->{locations}};
    return {number => $break->{number}} if !$first;
    my ($file, $line) = @$first;
    my $note = @others ? 'also at ' . join(', ', map { ff_absolute($_->[0]) . ":$_->[1]" } @others) : undef;
    return {number => $break->{number}, path => ff_absolute($file), line => $line, note => $note};
}

# Whether a `use` has run the code of a line already, before the program's first line.
sub ff_has_run {
    my ($file, $line) = @_;
    return 0 if !$ff_early{$file} || $dbline[$line] !~ /\A\s*[^\s#{}]/ || $dbline[$line] =~ /\A\s*(?:sub|package)\b/;
    for (values %sub) { return 0 if /\A\Q$file\E:(\d+)-(\d+)\z/ && $1 <= $line && $line <= $2 }
    return 1;
}

sub do_unbreak {
    my ($number) = @_;
    my $break = delete $ff_breaks{$number} or return '';
    for my $location (@{$break->{locations}}) {
        my $there = $ff_at{$location->[0]}{$location->[1]};
        delete $there->{$number};
        next if %$there;
        delete $ff_at{$location->[0]}{$location->[1]};
        ff_mark(@$location, 0);
    }
    for my $function (keys %ff_entries) {
        delete $ff_entries{$function}{$number};
        delete $ff_entries{$function} if !%{$ff_entries{$function}};
    }
    return '';
}

sub do_filters {
    %ff_filters = map { my ($name, @types) = split /,/; ($name => \@types) } @_;
    return '';
}

1;
