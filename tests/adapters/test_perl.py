"""Perl under `perl -d`: what is Perl's own, and that looking never changes the program."""

from __future__ import annotations

from harness import waits
from harness.reports import frame_of, functions, place, printed, texts, values

_SHAPES = r"""
use strict;
use warnings;

package Meter {
    sub TIESCALAR { return bless {} }
    sub FETCH { print "FETCHED\n"; return 7 }
}
package Money {
    use overload '""' => sub { print "ASKED\n"; 'money' }, '==' => sub { print "ASKED\n"; 1 };
}

package main;
my %stock = (pen => 3, ink => [1, { deep => 'yes' }], "two words" => undef);
my $price = bless { amount => 5, unit => "EUR\n" }, 'Money';
tie my $meter, 'Meter';
my ($text, $number, $float, $nothing, $truth) = ("42", 42, 2.5, undef, 1 == 1);
my ($sum, $exact) = (0.1 + 0.2, 2**53);
my $loop = { name => 'self' };
$loop->{me} = $loop;
my $matcher = qr/(\w+)-(\d+)/i;
my $named = \&inner;
my $closure = sub {
    my ($left, $right) = @_;
    my $sum = $left + $right + $number;
    return inner($sum); # @closure
};

sub inner {
    my $value = shift; # @inner
    return ($value, $value * 2);
}

my @both = $closure->(1, 2); # @call
my $seen = 0;
if ("abc-123" =~ $matcher) {
    $seen = 1; # @matched
}
while (my ($key, $value) = each %stock) {
    $seen++; # @each
}
print "seen $seen\n"; # @end
"""


def test_what_is_looked_at_is_shown_as_perl_writes_it_and_nothing_of_it_runs(dbg, write_program):
    p = write_program("shapes.pl", _SHAPES)
    report = dbg.data("start", p.name, "-b", "inner", "-b", p.at("matched"), "-b", p.at("each"))

    # Its argument has not been shifted yet.
    assert values(report)["_"]["text"] == "(45)"
    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack) == ["inner", "__ANON__", "<main>"]
    closure = texts(dbg.data("up"))
    assert {name: closure[name] for name in ("left", "right", "sum")} == {
        "left": "1",
        "right": "2",
        "sum": "45",
    }
    assert dbg.data("print", "$left + $number")["value"]["text"] == "43"
    shown = texts(dbg.data("up"))
    assert shown["stock"] == "(ink => [1, {deep => 'yes'}], pen => 3, 'two words' => undef)"
    assert shown["price"] == r'Money {amount => 5, unit => "EUR\n"}'
    assert shown["meter"] == "tied Meter"
    assert (shown["text"], shown["number"], shown["float"]) == ("'42'", "42", "2.5")
    assert (shown["sum"], shown["exact"]) == ("0.30000000000000004", "9007199254740992")
    assert shown["loop"] == "{me => HASH(…), name => 'self'}"
    assert shown["matcher"] == r"qr/(\w+)-(\d+)/i"
    assert (shown["nothing"], shown["truth"]) == ("undef", "1")
    assert (shown["named"], shown["closure"]) == (r"\&inner", "sub {…}")
    dbg.data("down", 2)
    returned = dbg.data("finish")
    assert place(returned) == p.at("closure")
    assert returned["returned"]["text"] == "(45, 90)"
    assert place(dbg.data("continue")) == p.at("matched")
    assert dbg.data("print", '"$2 $1"')["value"]["text"] == "'123 abc'"
    assert dbg.error("print", "seen")["message"].endswith("; there is $seen")
    # It goes on with its `each` where it was, whoever lists the keys meanwhile.
    rounds = [dbg.data("continue") for _ in range(3)]
    assert {texts(each)["key"] for each in rounds} == {"'pen'", "'ink'", "'two words'"}
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 0
    assert printed(dbg.data("output", "--all")) == "seen 4\n"


def test_a_breakpoint_in_a_module_binds_when_the_module_is_loaded(dbg, write_program):
    late = write_program("Late.pm", "package Late;\nmy $top = 1; # @top\nsub up { 2 } # @up\n1;\n")
    early = write_program("Early.pm", "package Early;\nmy $top = 1; # @top\nsub up { 2 }\n1;\n")
    p = write_program(
        "app.pl", "use lib '.';\nuse Early;\nmy $n = 1; # @first\nrequire Late;\nLate::up();\n"
    )
    for place_ in (late.at("top"), late.at("up"), early.at("top"), p.at("first")):
        dbg.data("break", place_)

    assert place(dbg.data("start", p.name)) == p.at("first")
    states = [each["state"] for each in dbg.data("breakpoint", "list")["breakpoints"]]
    # What a `use` has run is not promised.
    assert states == ["pending", "pending", "rejected", "bound"]
    report = dbg.data("continue")
    assert place(report) == late.at("top")
    assert frame_of(report)["function"] == "require Late.pm"
    bound = dbg.data("breakpoint", "list")["breakpoints"][:2]
    assert [each["state"] for each in bound] == ["bound", "bound"]
    assert place(dbg.data("continue")) == late.at("up")


_UNRULY = r"""
use strict;
use warnings;
$SIG{__DIE__} = sub { print "handled $_[0]" };
$SIG{USR1} = sub { die "woken\n" };
if (!fork) {
    work(0);
    exit 0;
}
wait;
my $done = eval { work(1); 1 }; # @try
print "not done: $@"; # @after

sub work {
    my ($who) = @_;
    print "work $who\n"; # @work
    return if !$who;
    my $step = 1; # @step
    die "no luck\n"; # @die
}
$? = 0;
die { code => 7 }; # @uncaught
"""


def test_children_signals_and_handlers_of_the_program_s_own(dbg, write_program):
    p = write_program("unruly.pl", _UNRULY)

    # A child runs alone: it is the parent who stops there.
    report = dbg.data("start", p.name, "-b", p.at("work"))
    assert texts(report)["who"] == "1"
    assert printed(report) == "work 0\n"
    # What the program does about a signal waits until it runs.
    assert dbg.data("eval", "kill USR1 => $$; 5")["value"]["text"] == "5"
    assert dbg.data("print", "$who")["value"]["text"] == "1"
    stepped = dbg.data("next")
    assert place(stepped) == p.at("after")
    assert "handled woken\n" in printed(stepped)
    failed = dbg.data("continue")
    assert place(failed) == p.at("uncaught")
    assert failed["stop"]["exception"]["message"] == "{code => 7}"
    assert dbg.data("continue")["exit"]["code"] != 0


def test_what_runs_at_the_end_ends_with_the_program_s_code(dbg, write_program):
    p = write_program("ends.pl", "END {\n  my $n = 1; # @end\n}\n$! = 2;\nexit 3;\n")

    report = dbg.data("start", p.name, "-b", p.at("end"))

    assert frame_of(report)["function"] == "END"
    assert dbg.data("print", "$?")["value"]["text"] == "3"
    assert dbg.data("finish")["exit"]["code"] == 3


def test_a_breakpoint_does_not_cut_short_what_the_program_waits_for(dbg, write_program):
    p = write_program(
        "waits.pl",
        "$| = 1;\nprint qq(ready\\n);\n"
        "my $got = sysread STDIN, my $text, 100;\n"
        "$got //= qq(nothing: $!); # @got\nprint qq(got $got\\n);\n",
    )
    dbg.data("start", p.name, "--no-wait", code=0)
    waits.wait_until(lambda: "ready" in printed(dbg.data("output", "--all")), "it waits")

    added = dbg.data("break", p.at("got"))["breakpoint"]
    dbg.data("input", "1234")

    assert added["state"] == "pending"
    assert texts(dbg.data("await"))["got"] == "5"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_program_that_does_not_stop_shows_its_stack_and_is_not_disturbed(dbg, write_program):
    p = write_program(
        "busy.pl",
        "use strict;\nuse Time::HiRes qw(time sleep);\n"
        "sub spin {\n    my ($word) = @_;\n    my $n = 0;\n"
        "    until (-e 'go') {\n        $n += $_ for 1 .. 1000;\n    }\n"
        "    return $word;\n}\n"
        "print spin('job'), qq(\\n);\n"
        "my $begin = time;\nsleep 3;\n"
        "print time - $begin >= 3 ? 'whole' : 'cut', qq(\\n);\n",
    )

    def seen() -> object:
        report = dbg.data("await", "-t", "0.1", code=124)
        return report["stacks"] and report["stacks"][0]

    dbg.data("start", p.name, "--no-wait", code=0)
    stack = waits.wait_until(seen, "its stack is shown")
    assert [frame["function"] for frame in stack["frames"]] == ["spin", "<main>"]
    assert {"$word": "'job'"}.items() <= {
        each["name"]: each["text"] for each in stack["values"]["0"]
    }.items()
    (p.path.parent / "go").touch()

    waits.wait_until(
        lambda: "waits in a system call" in str(dbg.data("await", "-t", "0.1", code=124)["notes"]),
        "it is reported as waiting",
    )
    ended = dbg.data("await")
    assert (printed(ended, "stdout").split()[-1], ended["exit"]["code"]) == ("whole", 0)


def test_a_watched_variable_stops_where_it_changes_and_when_it_is_gone(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("watch", "$total")
    dbg.data("watch", "$items->[0]{done}")
    dbg.data("breakpoint", "remove", "--all")

    first, second = dbg.data("continue"), dbg.data("continue")

    assert place(first) == p.at("done")
    watch = first["stop"]["watch"]
    assert (watch["old"], watch["new"]) == ("0", "6")
    assert (second["stop"]["watch"]["old"], second["stop"]["watch"]["new"]) == ("undef", "1")
    assert dbg.error("watch", "$total + 1")["code"] == "no-watch"
    assert dbg("raw", "p $total + 1").out == "7\n"
    assert f"{p.name}:" in dbg("raw", "T").out
    assert "main::" in dbg("raw", "S main").out
    assert dbg.error("raw", "c")["next"] == "dbg continue"
    assert dbg.error("watch", "--read", "$total")["code"] == "unsupported"
    dbg.data("watch", "remove", 2)
    assert [dbg.data("continue")["stop"]["watch"]["new"] for _ in range(2)] == ["11", "19"]
    gone = dbg.data("continue")
    assert gone["stop"]["watch"]["ended"]
    assert dbg.data("continue")["exit"]["code"] == 3


_ONE_LINE = """\
use feature "signatures"; no warnings;
package P { sub kept ($n, $m = 2) { my $sum = $n + $m; return $sum } }
package D {
    sub new { return bless {} } sub touch { my $s = shift; return 1 }
    sub DESTROY { print "gone\\n" }
}
package main;
sub add { my ($s, $n) = @_; $s->{sum} += $n; return $s->{sum} } # @add
sub one { my ($n) = @_; return $n } sub two { return 2 }
sub long {
    my $x = shift; my $y = $x + 1; # @long
    return $y;
}
my $h = {sum => 1};
add($h, 4);
my $code = \\&one; $code->(7), two();
long(3);
add($h, 2);
P::kept(4);
D->new->touch; print "after\\n";
"""


def test_functions_of_one_line_stop_before_their_first_statement(dbg, write_program):
    p = write_program("one.pl", _ONE_LINE)
    # The program begins on the line of P::kept.
    names = ("add", "one", "two", "long", "P::kept", "D::touch")
    report = dbg.data("start", p.name, *(word for name in names for word in ("-b", name)))

    # Perl itself marks the last statement of a line.
    assert (place(report), dbg.data("print", "$_[0]{sum}")["value"]["text"]) == (p.at("add"), "1")
    hits = [dbg.data("continue")["stop"]["breakpoints"] for _ in range(5)]
    assert hits == [[2], [3], [4], [1], [5]]
    assert dbg.data("print", "$n + $m")["value"]["text"] == "6"
    assert dbg.data("continue")["stop"]["breakpoints"] == [6]
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 0
    assert printed(ended) == "gone\nafter\n", "a stop keeps no object alive"
    dbg.data("breakpoint", "remove", "--all")
    entered = dbg.data("start", p.name, "-b", p.at("add"))
    assert dbg.data("print", "$_[0]{sum}")["value"]["text"] == "1"
    assert "n" not in texts(entered)
    later = dbg.data("next")
    # Another statement of the line is no further hit.
    assert (later["stop"]["reason"], texts(later)["n"]) == ("step", "4")
    assert place(dbg.data("continue")) == p.at("add")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_program_that_closes_our_pipes_says_so_and_keeps_its_own_files(dbg, project):
    (project / "closes.pl").write_text(
        "use POSIX ();\nPOSIX::close($_) for 3 .. 60;\n"
        "my @files = map { open my $f, '>', \"own$_.txt\" or die; $f } 1 .. 12;\n"
        "sub late {\n    my $n = shift;\n    return $n;\n}\nlate(4);\n"
        'print {$_} "own\\n" for @files;\n'
    )

    ended = dbg.data("start", "closes.pl", "-b", "closes.pl:6")

    assert ended["exit"]["code"] == 0
    assert "closed the connection" in ended["exit"]["reason"]
    assert {path.read_text() for path in project.glob("own*.txt")} == {"own\n"}
