# Records every call of its own hooks.
use strict; use warnings;
our @calls;
sub note { push @calls, $_[0] }
package Over; use overload '""' => sub { main::note('str'); 'text' }, '0+' => sub { main::note('num'); 3 }, 'bool' => sub { main::note('bool'); 1 }, '==' => sub { main::note('=='); 0 }, 'eq' => sub { main::note('eq'); 0 },
 '@{}' => sub { main::note('@{}'); [1] }, '${}' => sub { main::note('${}'); \1 }, '&{}' => sub { main::note('&{}'); sub {} }, 'nomethod' => sub { main::note("nomethod $_[3]"); 1 };
sub new { bless { plain => 1 }, shift } sub DESTROY { main::note('DESTROY') } sub isa { main::note("isa"); UNIVERSAL::isa(@_) } sub can { main::note("can"); UNIVERSAL::can(@_) } our $AUTOLOAD; sub AUTOLOAD { main::note("AUTOLOAD $AUTOLOAD") }
package OverHash; use overload '%{}' => sub { main::note('%{}'); {} }, '""' => sub { main::note('ostr'); 'o' }; sub new { bless [1, 2], shift }
package TS; sub TIESCALAR { bless [], shift } sub FETCH { main::note('FETCH'); 7 } sub STORE { main::note('STORE') } sub DESTROY {}
package TA; sub TIEARRAY { bless [], shift } sub FETCH { main::note('A.FETCH'); 7 } sub FETCHSIZE { main::note('A.FETCHSIZE'); 2 } sub STORE { main::note('A.STORE') } sub EXISTS { main::note('A.EXISTS'); 1 }
package TH; sub TIEHASH { bless {}, shift } sub FETCH { main::note('H.FETCH'); 7 } sub FIRSTKEY { main::note('H.FIRSTKEY'); 'k' } sub NEXTKEY { main::note('H.NEXTKEY'); undef } sub EXISTS { main::note('H.EXISTS'); 1 } sub SCALAR { main::note('H.SCALAR'); 1 }
package TF; sub TIEHANDLE { bless {}, shift } sub PRINT { main::note('PRINT') } sub FILENO { main::note('FILENO'); 1 }
package main;
local $SIG{__WARN__} = sub { note("warn $_[0]") };
sub inner {
    my ($argument, $other) = @_;
    my $five = 5;
    return $argument; # @return
}
sub work {
    my $hooked = Over->new; my $oh = OverHash->new; tie my $ts, 'TS'; tie my @ta, 'TA'; tie my %th, 'TH';
    my @held = ($hooked, { deep => [$oh] }, \$ts, \@ta, \%th); my %map = (k => $hooked); my $undef; my $code = sub { $hooked }; my $re = qr/a+/; my $glob = \*STDOUT;
    local $_ = $hooked; my $number = "12"; my %each = (a => 1, b => 2, c => 3); my ($first) = each %each; my $str = "abcabc"; $str =~ /b/g; my $mixed = 5; my $pos = pos $str;
    @calls = ();
    my $one = 1; # @one
    my $two = 2;
    my $three = 3;
    my $four = 4;
    eval { die $hooked }; # @raised
    inner($hooked, \%map);
    my ($second) = each %each;
    note("pos moved") if pos($str) != $pos;
    note("each moved") if $second eq $first;
    return $hooked;
}
our $global = Over->new; tie our $tied, 'TS';
my $result = work();
my $seen = join(';', @calls); print "calls [$seen]\n";
