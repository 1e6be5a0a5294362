# A recursion with a known depth: 10 frames of `down` at the bottom.
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';

sub down ($depth) {
    if ($depth == 0) {
        return 1; # @bottom
    }
    my $below = down($depth - 1);
    return $below + 1; # @up
}

print down(9), "\n"; # @start
