# Failing checks of Test::More and of everything else built on Test2. The rules of `agent.pl` apply.
# A failing check does not die: a hub processes its event, and the test goes on.

package DB;
use utf8;
use strict;
use warnings;
no warnings qw(once recursion);
no overloading;

our ($ff_busy, $ff_gone, $ff_first, $ff_pid, $ff_calls, $ff_args, $ff_error, %ff_filters, $ff_short);

# The arguments that each check takes before the name of the test.
my %ff_given = (is => ['got', 'expected'], isnt => ['got', 'unexpected'], like => ['got', 'expected'],
    unlike => ['got', 'unexpected'], is_deeply => ['got', 'expected'], cmp_ok => ['got', 'operator', 'expected']);

my $ff_runner = qr/\ATest(?:::Builder|2::API)\z/;
# A subtest died, and its end event has not come yet.
my $ff_died = 0;

# Stop at the check whose event fails the test.
sub ff_sent {
    my ($event) = @_;
    return if $ff_busy || $ff_gone || $ff_first || $$ != $ff_pid || !defined Scalar::Util::blessed($event);
    return if !$ff_filters{uncaught} || @{$ff_filters{uncaught}};
    # A subtest fails because of a check that was already reported.
    return if !grep { $event->isa("Test2::Event::$_") } qw(Ok Fail V2);
    return if $event->isa('Test2::Event::Subtest');
    my @kept = ff_keep();
    my $fails = do { local ($ff_busy, $@) = (1, ''); eval { $event->causes_fail } };
    if ($fails) {
        local $ff_calls = $ff_calls - 1;
        $ff_args = undef;
        my ($check, $message) = ff_check($event);
        if (defined $check) {
            $ff_error = {type => $check, message => $message, failing => 1};
            ff_stop({reason => 'exception'});
            $ff_error = undef;
        }
    }
    ($@, $!, $?, $^E) = @kept;
}

# Return the check that the user's code called, and its arguments.
sub ff_check {
    my ($event) = @_;
    my $called;
    for my $frame (ff_stack()) {
        if (!ff_is_library(ff_absolute($frame->{file}))) {
            return if !$called || !defined $called->{sub};
            my ($function) = $called->{sub} =~ /(\w+)\z/;
            return if $function eq 'subtest' && $ff_died;
            my @differences = ff_compared($called->{args}, $ff_given{$function});
            my $name = eval { $event->can('name') ? $event->name : $event->facet_data->{assert}{details} };
            my $message = defined $name && length $name ? "Failed test '$name'" : 'Failed test';
            return ($called->{sub}, @differences ? "$message: " . join(', ', @differences) : $message);
        }
        $called = $frame;
    }
    return;
}

sub ff_compared {
    my ($args, $names) = @_;
    return () if !$names || @$args < @$names;
    return map { "$names->[$_] " . ff_text($args->[$_], 200) } 0 .. $#$names;
}

# Whether the subtest runner rethrows an exception that was already reported.
sub ff_dies_again {
    return 0 if !$ff_died || ff_top()->{package} !~ $ff_runner;
    $ff_died = 0;
    return 1;
}

# Whether the subtest runner catches the current exception, and nothing inside the subtest does.
sub ff_fails_subtest {
    my $level = 0;
    while (my @at = caller $level++) {
        next if $at[3] ne '(eval)';
        return $ff_died = $at[0] =~ $ff_runner ? 1 : 0;
    }
    return 0;
}

1;
