"""Ruby through the debug gem: what its own server gets wrong or has not, and Ruby's own ways."""

from __future__ import annotations

import subprocess

import pytest

from harness import waits
from harness.reports import frame_of, functions, own, place, printed, texts, values

# --- breakpoints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "marker", "function"),
    [
        ("Shop::Cart.of", "of", "Shop::Cart.of"),
        ("Cart#initialize", "init", "Shop::Cart#initialize"),
        ("Item#amount", "amount", "Shop::Item#amount"),
        ("find", "one", "Shop::Cart#find"),
    ],
)
def test_methods_are_named_as_ruby_names_them(dbg, sample, name, marker, function):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", name)

    assert place(report) == p.at(marker)
    assert frame_of(report)["function"] == function
    assert report["stop"]["breakpoints"] == [1]


def test_a_method_without_a_body_can_be_broken_at(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", "nothing")

    assert frame_of(report)["function"] == "nothing"


def test_a_breakpoint_on_a_def_stops_in_the_method_when_it_is_called(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", f"{p.name}:{p.line('amount') - 1}")

    assert place(report) == p.at("amount")


def test_a_breakpoint_where_no_code_is_moves_to_the_next_line_and_says_so(dbg, sample):
    p = sample("loop")
    dbg.data("break", f"{p.name}:1")

    report = dbg.data("start", p.name)

    [bound] = dbg.data("breakpoint", "list")["breakpoints"]
    assert bound["line"] == frame_of(report)["line"] == 3


def test_a_line_after_the_last_code_is_not_bound(dbg, sample, project):
    p = sample("loop")
    with (project / p.name).open("a") as file:
        file.write("# the end\n")
    last = len((project / p.name).read_text().splitlines())
    dbg.data("break", f"{p.name}:{last}")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    [lost] = dbg.data("breakpoint", "list")["breakpoints"]
    assert lost["state"] != "bound"


def test_a_file_that_is_loaded_later_is_bound_then(dbg, sample, project):
    sample("shop")
    (project / "late.rb").write_text("def late\n  1 + 1\nend\n")
    (project / "main.rb").write_text('puts "first"\nrequire_relative "late"\nlate\n')

    dbg.data("start", "main.rb", "--stop-on-entry")
    added = dbg.data("break", "late.rb:2")["breakpoint"]
    assert added["state"] != "bound"

    assert place(dbg.data("continue")) == "late.rb:2"
    [bound] = dbg.data("breakpoint", "list")["breakpoints"]
    assert bound["state"] == "bound"


def test_a_block_on_one_line_stops_once_for_the_line(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("one"), "-b", p.at("begin"))

    assert place(dbg.data("continue")) == p.at("begin")


def test_a_block_on_one_line_that_is_called_later_stops_again(dbg, write_program):
    text = (
        "HANDLERS = []\ndef on(&block) = HANDLERS << block\n"
        "on { |v| v + 1 } # @handler\n"
        "HANDLERS.first.call(4)\nHANDLERS.first.call(5) # @second\nputs 'end'\n"
    )
    p = write_program("handlers.rb", text)

    stops = [dbg.data("start", p.name, "-b", p.at("handler")), dbg.data("continue")]

    assert [place(each) for each in stops] == [p.at("handler")] * 2
    assert texts(stops[1])["v"] == "4"
    dbg.data("until", p.at("second"))
    assert texts(dbg.data("next"))["v"] == "5", "a step stops there, too"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_condition_that_raises_stops_and_says_why(dbg, sample):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "-c", "nowhere > 1")

    answer = dbg("start", p.name)

    assert "NameError" in answer.out
    assert "nowhere" in answer.out


def test_a_log_message_may_hold_a_block_and_braces_in_a_string(dbg, sample):
    p = sample("loop")
    dbg.data("break", p.at("first"), "--log", "{items.map { |each| each[:name] }.join('}')}")

    report = dbg.data("start", p.name)

    assert printed(report, "log") == "pen}ink}pad\n"


def test_a_step_stops_at_a_line_whose_breakpoint_does_not_hold(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("break", p.at("loop"), "-c", "false")

    report = dbg.data("next")

    assert report["stop"]["reason"] == "step"
    assert place(report) == p.at("loop")


def test_a_step_onto_a_breakpoint_is_one_stop_and_one_hit(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"), "-b", p.at("done"))
    dbg.data("break", p.at("loop"), "--hit-count", "2")

    assert dbg.data("next")["stop"]["reason"] == "step"
    assert place(dbg.data("continue")) == p.at("done")
    dbg.data("continue")
    second = dbg.data("continue")

    assert place(second) == p.at("loop")
    assert texts(second)["number"] == "1"


def test_an_ensure_is_stopped_in_whether_or_not_something_was_raised(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", p.at("ensure"))

    assert place(report) == p.at("ensure")
    assert texts(report)["name"] == '"pad"'


# --- steps --------------------------------------------------------------------------------------


def test_next_goes_through_a_block_line_by_line(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("each"))

    places = [place(dbg.data("next")) for _ in range(5)]

    marks = ["block", "sum", "block", "sum", "total"]
    assert places == [p.at(mark) for mark in marks]


def test_finish_of_a_method_that_an_exception_leaves_claims_no_value(dbg, project):
    text = """def bad(n)
  n += 1
  raise "no" if n == 2
  nil
end

def try(n)
  bad(n)
rescue RuntimeError
  puts "rescued"
end

try(1)
try(2)
puts "end"
"""
    (project / "leaves.rb").write_text(text)
    dbg.data("start", "leaves.rb", "-b", "leaves.rb:2")

    report = dbg.data("finish")

    assert place(report) == "leaves.rb:10"
    assert report["returned"] is None
    dbg.data("continue")
    assert dbg.data("finish")["returned"]["text"] == "nil"


def test_finish_says_what_was_returned(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("amount"))

    report = dbg.data("finish")

    assert place(report) == p.at("sum")
    assert report["returned"]["text"] == "6"


def test_a_breakpoint_where_a_method_returns_to_hides_no_value(dbg, write_program):
    p = write_program("twice.rb", "def twice(n)\n  n * 2\nend\ntwice(4)\ny = 1 # @after\n")
    dbg.data("start", p.name, "-b", "twice.rb:2", "-b", p.at("after"))

    report = dbg.data("finish")

    assert (place(report), report["returned"]["text"]) == (p.at("after"), "8")


# --- values -------------------------------------------------------------------------------------


def test_values_are_shown_as_ruby_shows_them_whatever_their_inspect_does(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", p.at("begin"))

    seen = texts(report)
    assert seen["set"] == 'Set{1, "two", :three}'
    assert seen["me"] == "[1, […]]"
    assert seen["table"] in ('{"a"=>[1, nil], :b=>2.5}', '{"a" => [1, nil], b: 2.5}')
    # Unasked it is not called.
    assert (seen["evil"], seen["endless"]) == ("#<Evil>", "#<Endless>")
    assert "not today" in dbg.data("print", "evil")["value"]["text"]
    assert "took too long" in dbg.data("print", "endless")["value"]["text"]
    assert "4,400 chars" in seen["long"]
    assert values(report)["cart"]["type"] == "Shop::Cart"


def test_no_hook_of_a_ruby_program_runs_because_it_is_looked_at(dbg, write_program):
    hooks = (
        "inspect",
        "to_s",
        "==",
        "hash",
        "class",
        "instance_variables",
        "size",
        "each",
        "first",
    )
    written = "\n".join(f"  def {name}(*) = ($calls << :{name}; super)" for name in hooks)
    p = write_program(
        "hooks.rb",
        "$calls = []\n"
        f"module Hooks\n{written}\n"
        "  def respond_to_missing?(name, all) = ($calls << :respond; false)\n"
        "  def method_missing(name, *) = ($calls << name; nil)\nend\n"
        "class Plain\n  prepend Hooks\n  def initialize = @a = 1\nend\n"
        "class List < Array\n  prepend Hooks\nend\n"
        "class Table < Hash\n  prepend Hooks\nend\n"
        "class Text < String\n  prepend Hooks\nend\n"
        "class Fault < StandardError\n  prepend Hooks\n"
        "  def message = ($calls << :message; 'called')\nend\n"
        "class Own\n  def inspect = ($calls << :inspect; 'own')\nend\n"
        "def failure = (yield; nil) rescue $!\n"
        "def work\n"
        "  plain, list, table = Plain.new, List.new([1, 2]), Table.new.update(a: 1)\n"
        "  text, held = Text.new('hi'), [plain, {k: list}]\n"
        "  fault, odd, bare = Fault.new('given'), RuntimeError.new(plain), IOError.new\n"
        "  of_nil, of_plain = failure { nil.foo }, NoMethodError.new('it', :foo, receiver: plain)\n"
        "  lazy = failure { Own.new.foo }\n"
        "  $calls.clear\n"
        "  one = 1  # @one\n"
        "  two = 2\n"
        "  puts $calls.uniq.inspect\n"
        "end\n"
        "work\n",
    )

    seen = texts(dbg.data("start", p.name, "-b", p.at("one")))
    assert (seen["list"], seen["text"]) == ("[1, 2]", '"hi"')
    assert "#<Plain @a=1>" in seen["held"]
    assert (seen["fault"], seen["odd"]) == ("#<Fault: given>", "#<RuntimeError: #<Plain @a=1>>")
    assert (seen["bare"], seen["of_plain"]) == ("#<IOError: IOError>", "#<NoMethodError: it>")
    assert seen["lazy"] == "#<NoMethodError: :foo of #<Own>>"
    assert seen["of_nil"].startswith("#<NoMethodError: undefined method")
    message = dbg.error("set", "lits", "1")["message"]
    assert "no variable lits to assign to; there are plain, list" in message
    dbg.data("locals")
    dbg.data("next")
    dbg.data("context")
    dbg.data("backtrace", "--locals")
    assert printed(dbg.data("continue")) == "[]\n"


def test_what_a_value_holds_can_be_printed_and_set_by_its_path(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("call"))

    whole = dbg.data("print", "cart", "--depth", 3)["value"]

    [items, _] = whole["children"]
    assert (items["name"], items["expression"]) == ("@items", "cart.items")
    pen = items["children"][0]
    assert [child["name"] for child in pen["children"]] == ["name", "price", "count"]
    dbg.data("set", "cart.items[0].price", "10")
    assert dbg.data("print", "cart.total")["value"]["text"] == "35"


def test_a_call_that_never_ends_is_given_up_and_the_session_lives(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("call"))

    error = dbg.error("print", "loop {}", code=1)

    assert error["code"] == "evaluation"
    assert dbg.data("print", "1 + 1")["value"]["text"] == "2"


def test_evaluating_never_stops_at_a_breakpoint(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("call"), "-b", p.at("amount"))

    assert dbg.data("print", "cart.total")["value"]["text"] == "11"
    assert place(dbg.data("continue")) == p.at("amount")


# --- exceptions ---------------------------------------------------------------------------------


def test_an_uncaught_exception_is_told_with_its_cause_and_its_frames_alive(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name)

    stop = report["stop"]
    assert (stop["exception"]["type"], stop["exception"]["message"]) == ("TypeError", "wrapped")
    assert place(report) == p.at("fatal")
    assert "caused by ArgumentError" in stop["exception"]["raw_traceback"]
    assert dbg.data("print", "long.length")["value"]["text"] == "5000"
    assert dbg.data("next")["exit"]["code"] == 1


def test_raised_exceptions_are_narrowed_to_a_type(dbg, sample):
    p = sample("shop")
    dbg.data("catch", "raised", "ArgumentError")

    first = dbg.data("start", p.name)

    assert place(first) == p.at("raise")
    assert first["stop"]["exception"]["message"] == "no item pad"
    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack)[0].endswith("find")
    assert own(stack["frames"])[0]["line"] == p.line("raise")
    dbg.data("breakpoint", "remove", "--all")
    assert dbg.data("continue")["stop"]["exception"]["message"].startswith("invalid value")


def test_a_line_that_is_rescued_often_stops_when_nobody_does(dbg, sample, project):
    sample("shop")
    (project / "often.rb").write_text(
        "def check(n)\n  half = n / 2\n  raise ArgumentError, n.to_s if n.odd?\nend\n"
        "200.times do |n|\n  check(n)\nrescue ArgumentError\nend\ncheck(301)\n"
    )

    report = dbg.data("start", "often.rb")

    assert place(report) == "often.rb:3"
    assert texts(report) == {"n": "301", "half": "150"}
    [stack] = dbg.data("backtrace")["stacks"]
    assert [frame["line"] for frame in stack["frames"]] == [3, 9]


# --- life ---------------------------------------------------------------------------------------


def test_children_run_free_and_the_program_ends_as_it_does_alone(dbg, sample, project):
    sample("shop")
    (project / "forks.rb").write_text(
        'def name = "child"\npid = fork do\n  puts name\n  exit 7\nend\nProcess.wait(pid)\n'
        'puts "status #{$?.exitstatus}"\nputs `ruby child.rb`\n'
    )
    (project / "child.rb").write_text("puts 40 + 2\n")

    report = dbg.data("start", "forks.rb", "-b", "child.rb:1")

    assert report["exit"]["code"] == 0
    assert printed(report, "stdout") == "child\nstatus 7\n42\n"
    assert printed(report, "stderr") == ""
    unseen = "rdbg sets no breakpoints in child processes or after an exec"
    assert report["notes"] == [unseen]

    dbg("start", "forks.rb", "-b", "forks.rb:2")
    assert f"no call of name and exited with code 0; {unseen}." in dbg("trace", "name").err


def test_the_program_sees_nothing_of_the_debugger_in_its_surroundings(dbg, sample, project):
    sample("shop")
    code = "p ARGV, $0, ENV.keys.grep(/FREEZE.*RUBY|RUBYOPT|RUBY_DEBUG/), Thread.list.size\n"
    (project / "sees.rb").write_text(code)

    report = dbg.data("start", "sees.rb", "--", "one", "two words")

    lines = printed(report, "stdout").splitlines()
    assert lines[0] == '["one", "two words"]'
    assert lines[1] == f'"{project}/sees.rb"'
    assert lines[2] == "[]"


def test_a_syntax_error_is_the_program_s_own_end(dbg, sample, project):
    sample("shop")
    (project / "bad.rb").write_text("def a\n  1 +\nend\n")

    report = dbg.data("start", "bad.rb")

    assert report["exit"]["code"] == 1
    assert "bad.rb:3" in printed(report, "stderr")


def test_the_gem_s_own_language_is_reached_by_raw(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))

    assert "total = 0" in dbg("raw", "info").out


def test_a_server_at_a_port_is_joined_left_and_joined_again(dbg, sample, project):
    p = sample("endless")
    port = waits.free_port()
    env = {**dbg.env, "RUBY_DEBUG_PORT": str(port)}
    command = ["ruby", "-r", "debug/open_nonstop", str(p.path)]
    living = subprocess.Popen(command, cwd=project, env=env, stderr=subprocess.DEVNULL)
    try:
        waits.wait_for_file(project / "spinning.txt", "spinning")
        for _ in range(2):
            report = dbg.data("attach", f"127.0.0.1:{port}", "-b", p.at("turn"))
            assert place(report) == p.at("turn")
            assert report["stop"]["breakpoints"]
            dbg.data("detach")
        assert living.poll() is None
    finally:
        living.kill()
        living.wait()


def test_a_process_without_the_gem_in_it_is_refused_with_what_to_do(dbg, sample, project):
    p = sample("endless")
    living = subprocess.Popen(["ruby", str(p.path)], cwd=project, env=dbg.env)
    try:
        waits.wait_for_file(project / "spinning.txt", "spinning")
        error = dbg.error("attach", living.pid, code=1)
        assert error["code"] == "unsupported"
        assert "rdbg --open" in error["next"]
    finally:
        living.kill()
        living.wait()


def test_a_part_of_an_array_or_a_hash_has_its_own_indices_and_keys(dbg, sample, project):
    (project / "pages.rb").write_text("a = (0..300).to_a\nh = a.to_h { |n| [n, n * n] }\nz = 1\n")
    dbg.data("start", "pages.rb", "-b", "pages.rb:3")
    assert dbg("print", "a", "--range", "250:252").out == "a [250:252]\n  250 = 250\n  251 = 251\n"
    assert dbg("print", "h", "--range", "250:251").out == "h [250:251]\n  250 = 62500\n"


def test_the_debugger_begins_where_its_thread_runs_before_it_is_known(dbg, project):
    """As on a busy machine: `Thread.new` returns after the thread has run for a while."""
    late = "prepend(Module.new { def new(*given, &run) = super.tap { |thread| thread.join(0.2) } })"
    (project / "late.rb").write_text(f"class << Thread\n  {late}\nend\n")
    (project / "one.rb").write_text("one = 1\nputs one\n")

    report = dbg.data("start", "ruby", "-r./late.rb", "one.rb", "-b", "one.rb:2")

    assert place(report) == "one.rb:2"
