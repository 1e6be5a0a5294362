# Prints much: as many megabytes as the first argument says, in lines of 100 bytes.
use strict;
use warnings;

my $megabytes = $ARGV[0] // 1;
my $lines = int($megabytes * 10_000);
my $block = ("x" x 99 . "\n") x 1000;
for (1 .. $lines / 1000) {
    print $block;
}
print "last line $lines\n"; # @end
