"""Checks of Test::More that fail: the program stops at the user's line, although nothing dies."""

from __future__ import annotations

from harness.reports import shown, texts

CART = """\
use strict;
use warnings;
use Test::More;

sub price {
    my ($n) = @_;
    die "negative\\n" if $n < 0; # @error
    return $n * 2;
}

is(price(2), 4, 'passes');
ok(!eval { price(-1) }, 'dies');
TODO: {
    local $TODO = 'later';
    ok(0, 'to do');
}
SKIP: { skip 'not now', 1 }
is(price(1), 3, 'doubles'); # @assert
subtest inner => sub {
    my $got = price(3);
    is_deeply([$got], [7], 'deep'); # @inner
};
eval {
    subtest dying => sub { price(-2) };
};
done_testing;
"""


def test_a_failing_check_stops_at_the_line_of_the_check_and_only_that(dbg, write_program):
    p = write_program("cart.t", CART)

    report = dbg.data("start", "prove", p.name)

    failed = report["stop"]["exception"]
    assert (shown(report), failed["mode"]) == (p.at("assert"), "test-failing")
    assert failed["type"] == "Test::More::is"
    assert failed["message"] == "Failed test 'doubles': got 2, expected 3"
    report = dbg.data("continue")
    assert (shown(report), texts(report)["got"]) == (p.at("inner"), "6")
    report = dbg.data("continue")
    assert (shown(report), texts(report)["n"]) == (p.at("error"), "-2")
    assert report["stop"]["exception"]["mode"] == "test-failing"
    assert dbg.data("continue")["exit"]["code"] == 3
    dbg.data("catch", "off")
    assert dbg.data("restart")["exit"]["code"] == 3
