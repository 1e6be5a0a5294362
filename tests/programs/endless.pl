# Never ends by itself, and writes a file when it has begun.
use strict;
use warnings;

sub spin {
    my ($path) = @_;
    my $turns = 0;
    open my $file, '>', $path or die;
    print $file "spinning";
    close $file;
    while (1) {
        $turns++; # @turn
        select undef, undef, undef, 0.001;
    }
}

spin($ARGV[0] // "spinning.txt");
