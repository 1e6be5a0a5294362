"""PHP through phpdbg's prompt: what the program prints stays apart, and frames are its own."""

from __future__ import annotations

from harness.programs import write
from harness.reports import frame_of, functions, place, printed, shown, texts


def test_what_is_printed_is_not_taken_for_what_phpdbg_says(dbg, project):
    text = (
        "<?php\n"
        'echo "prompt> [Breakpoint #1 at /x.php:3, hits: 1]\\n>00003: x";\n'
        'fwrite(STDERR, "[Script ended normally]\\n");\n'
        'echo "[Script ended normally]\\n";\n'
        'fwrite(STDOUT, "[Uncaught X in /x.php on line 1: y]\\n");\n'
        "echo count($argv), basename($argv[0]), $argv[1] ?? ''; // @here\n"
    )
    p = write("sly.php", text, project)

    report = dbg.data("start", p.name, "-b", p.at("here"), "--", 'it\'s {port} "x"')

    assert place(report) == p.at("here")
    assert report["stop"]["breakpoints"] == [1]
    assert printed(report, "stderr") == "[Script ended normally]\n"
    ended = dbg.data("continue")
    assert printed(ended, "stdout").strip() == '2sly.phpit\'s {port} "x"'
    assert ended["exit"]["code"] == 0


def test_the_stack_and_the_values_are_the_program_s_own(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", "Shop\\Cart::add", "-b", p.at("half"))

    assert frame_of(report)["function"] == "Shop\\Cart::add"
    assert set(texts(dbg.data("args"))) == {"item", "cents"}
    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack) == ["add", "Shop\\fill", "{main}"]
    dbg.data("up")
    assert dbg.data("print", "$cart->name . count($rows)")["value"]["text"] == '"first3"'
    assert dbg.data("set", "$refused", "41")["value"]["text"] == "41"
    # phpdbg crashes when the frame of a file is requested.
    assert texts(dbg.data("frame", 2))["odd"] == '"a\\x00b\\x80\\n"'
    assert dbg.data("print", "strlen($odd) + 1")["value"]["text"] == "6"
    dbg.data("breakpoint", "remove", 1)
    inside = dbg.data("continue")
    assert place(inside) == p.at("half")
    assert place(dbg.data("finish")) == p.at("rule")
    assert dbg.data("print", "new Bad('x') instanceof Bad")["value"]["text"] == "true"
    parts = dbg.data("print", "$this", "--depth", 2)["value"]["children"]
    assert {part["name"]: part["text"] for part in parts}["secret"] == "7"


def test_a_file_that_is_not_php_stops_where_it_goes_wrong(dbg, project):
    p = write("broken.php", "<?php\nfunction f() { return 1 } // @wrong\n", project)

    report = dbg.data("start", p.name)

    assert report["stop"]["exception"]["type"] == "ParseError"
    assert shown(report) == p.at("wrong")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 255
    assert "syntax error" in printed(ended)


def test_a_line_that_phpdbg_cannot_read_is_not_sent(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))

    assert "longer" in dbg.error("print", "strlen('" + "x" * 600 + "')")["message"]

    assert dbg.data("print", "$total")["value"]["text"] == "0"


def test_a_line_is_hit_once_in_a_pass_however_many_calls_it_makes(dbg, project):
    text = (
        "<?php\n"
        "class Bag { function __get($name) {\n"
        "    return 1; // @get\n"
        "} }\n"
        "function twice($x) {\n"
        "    return $x * 2; // @twice\n"
        "}\n"
        "$bag = new Bag;\n"
        "$unnamed = new class { public int $v = 5; };\n"
        "$held = new SplObjectStorage; $held[$bag] = 'x';\n"
        "foreach ([1, 2, 3] as $x) { // @loop\n"
        "    $y = twice($x) + twice($bag->size) + $bag->size; // @calls\n"
        "    echo $y, PHP_EOL;\n"
        "}\n"
    )
    p = write("calls.php", text, project)
    dbg.data("break", p.at("calls"), "--log", "x={$x}")
    dbg.data("break", p.at("calls"), "--hit-count", 2)

    report = dbg.data("start", p.name, "-b", p.at("loop"))

    assert place(report) == p.at("loop")
    seen = texts(report)
    assert seen["unnamed"] == "class@anonymous {v: 5}"
    assert seen["held"] == "SplObjectStorage {storage: [array(2)]}"
    report = dbg.data("continue")
    assert (place(report), printed(report, "log")) == (p.at("loop"), "x=1\n")
    report = dbg.data("continue")
    assert (place(report), texts(report)["x"]) == (p.at("calls"), "2")
    assert place(dbg.data("next")) != p.at("calls")
    dbg.data("breakpoint", "remove", 3)
    dbg.data("break", "twice")
    called = dbg.data("finish")  # of the script: it runs on to its breakpoints
    assert (place(called), printed(called, "log")) == (p.at("twice"), "x=3\n")
    dbg.data("breakpoint", "remove", 4)
    assert place(dbg.data("finish")) == p.at("calls")
    assert dbg.data("finish")["exit"]["code"] == 0


def test_a_closure_on_its_caller_s_line_stops_or_the_breakpoint_says_that_it_does_not(dbg, project):
    text = (
        "<?php\n"
        "function apply($do) {\n"
        "    return $do(1);\n"
        "}\n"
        "$one = apply(fn($x) => $x + 1); // @own\n"
        "$two = array_map(fn($x) => $x + 1, [1]); // @built\n"
        "echo $one;\n"
    )
    p = write("closures.php", text, project)

    report = dbg.data("start", p.name, "-b", p.at("own"))

    assert frame_of(report)["function"] == "{main}"
    assert frame_of(dbg.data("continue"))["function"] == "{closure}"
    added = dbg.data("break", p.at("built"))["breakpoint"]
    assert "built-in function" in added["message"]
    assert place(dbg.data("continue")) == p.at("built")
    assert dbg.data("continue")["exit"]["code"] == 0
