# Echoes its standard input line by line, and counts the lines.
use strict;
use warnings;

$| = 1;
print "ready\n";
my $count = 0;
while (my $line = <STDIN>) {
    chomp $line;
    $count++;
    print "heard $line\n"; # @line
}
print "lines $count\n"; # @eof
