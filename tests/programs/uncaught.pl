# Dies of an error that nobody catches.
use strict;
use warnings;

sub divide {
    my ($left, $right) = @_;
    return $left / $right; # @uncaught
}

sub average {
    my @numbers = @_;
    my $total = 0;
    $total += $_ for @numbers;
    return divide($total, scalar @numbers); # @caller
}

$| = 1;
print "averages\n";
print average(1, 2, 3), "\n";
print average(), "\n";
