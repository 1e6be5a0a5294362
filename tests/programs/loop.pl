# Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';

sub line_amount ($price, $count) {
    my $amount = $price * $count; # @callee
    return $amount; # @return
}

sub total_of ($items) {
    my $total = 0; # @first
    my $number = 0;
    while ($number < @$items) {
        my $amount = line_amount($items->[$number]{price}, $items->[$number]{count}); # @call
        $total += $amount; # @loop
        $items->[$number]{done} = 1; # @done
        $number++;
    }
    return $total; # @last
}

sub main () {
    my $nothing;
    my @order = (
        { name => "pen", price => 2, count => 3 },
        { name => "ink", price => 5, count => 1 },
        { name => "pad", price => 4, count => 2 },
    );
    $| = 1;
    print "adding\n"; # @print
    my $total = total_of(\@order); # @main
    print "total $total\n";
    print STDERR "done\n"; # @after
    return $total == 19 ? 3 : 4; # @end
}

exit main();
