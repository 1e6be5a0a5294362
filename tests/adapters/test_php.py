"""PHP's own ways: names, values, frames, exceptions that are caught and those that are not."""

from __future__ import annotations

import os
import signal
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import waits
from harness.programs import write
from harness.reports import bare, frame_of, functions, place, printed, texts


def test_only_an_exception_that_nobody_catches_stops_the_program(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("refused")
    assert report["stop"]["exception"]["type"] == "Shop\\Refused"
    assert report["stop"]["exception"]["message"] == "no more"
    assert printed(report, "stdout") == "260 1\n"
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 255


def test_parameters_of_a_closure_are_not_denied_where_xdebug_does_not_tell_them(dbg, project):
    text = (
        "<?php\nfunction call(callable $do) {\n    throw new LogicException('x');\n}\n"
        "call(fn($q) => $q); // @call\n"
    )
    p = write("closures.php", text, project)

    report = dbg.data("start", p.name)

    assert report["stop"]["exception"]["type"] == "LogicException"
    assert texts(report)["do"] == "Closure"


def test_exceptions_of_a_type_stop_where_they_are_thrown(dbg, sample):
    p = sample("shop")
    dbg.data("catch", "off")
    dbg.data("catch", "raised", "InvalidArgumentException")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("bad")
    assert report["stop"]["exception"]["message"] == "ink costs 0"
    assert dbg.data("continue")["state"] == "terminated"


def test_a_step_over_a_call_that_catches_an_exception_ends_behind_it(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("fill"))
    dbg.data("continue")
    dbg.data("breakpoint", "remove", "--all")

    report = dbg.data("next")

    assert place(report) == p.at("caught")
    assert report["stop"]["reason"] == "step"


def test_a_value_is_written_as_php_writes_it_and_opens(dbg, sample):
    p = sample("shop")
    report = dbg.data("start", p.name, "-b", p.at("total"))

    seen = texts(report)
    assert seen["odd"] == '"a\\x00b\\x80\\n"'
    assert seen["counts"] == '["x" => 1]'
    assert seen["half"] == "Closure($cents)"
    nested = dbg.data("print", "[[Currency::EUR]]")["value"]["text"]
    assert nested in ("[[Shop\\Currency::EUR]]", "[[Shop\\Currency::…]]"), "never a wrong case"
    assert seen["cart"] == (
        'Shop\\Cart {secret: 7, lines: ["pen" => 120, "pad" => 400], name: "first", '
        "currency: Shop\\Currency::EUR}"
    )
    opened = dbg.data("print", "$cart", "--depth", 2)["value"]
    parts = {part["name"]: part for part in opened["children"]}
    assert parts["::$made"]["text"] == "1"
    assert parts["secret"]["text"] == "7"
    assert [part["name"] for part in parts["lines"]["children"]] == ['["pen"]', '["pad"]']
    # Names mean what they mean in the file: its namespace, its imports.
    assert dbg.data("print", "new Bad('x') instanceof Bad")["value"]["text"] == "true"
    assert dbg.data("print", "Cart::$made + 1")["value"]["text"] == "2"
    assert dbg.error("print", "$nope + 1")["message"].startswith("Undefined variable $nope")
    assert "ParseError" in dbg.error("print", "1 +")["message"]


def test_a_float_has_all_its_digits_and_the_program_s_own_stay_as_they_are(dbg, project):
    text = (
        "<?php\nfunction third(float $x) {\n    $y = [$x]; // @third\n    return $x;\n}\n"
        "$sum = 0.1 + 0.2;\n$again = third($sum);\necho $sum, ini_get('precision');\n"
    )
    p = write("floats.php", text, project)
    dbg.data("break", f"{p.name}:4", "--log", "{$x}")
    exact = "0.30000000000000004"

    assert texts(dbg.data("start", p.name, "-b", p.at("third")))["x"] == exact
    assert dbg.data("print", "$x")["value"]["text"] == exact
    assert dbg.data("print", "$x * 1")["value"]["text"] == exact
    assert dbg.data("print", '"$x"')["value"]["text"] == '"0.3"'
    dbg.data("up")
    assert dbg.data("print", "$sum == 0.3")["value"]["text"] == "false"
    dbg.data("down")
    report = dbg.data("finish")
    assert report["returned"]["text"] == exact
    assert exact in printed(report, "log")
    assert dbg.data("eval", "ini_set('precision', '6')")["value"]["text"] == '"14"'
    assert printed(dbg.data("continue"), "stdout") == "0.36"


def test_an_outer_frame_evaluates_with_its_own_variables(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("add"))

    dbg.data("up")
    assert dbg.data("print", "count($rows) . $item")["value"]["text"] == '"3pen"'
    assert dbg.data("print", "$cart->name . '!'")["value"]["text"] == '"first!"'
    assert "$this" in dbg.error("print", "$this")["message"]
    assert dbg.data("set", "$refused", "41")["value"]["text"] == "41"
    dbg.data("frame", 2)
    assert dbg.data("print", "get_class($cart)")["value"]["text"] == '"Shop\\\\Cart"'
    dbg.data("breakpoint", "remove", "--all")
    assert printed(dbg.data("continue"), "stdout") == "260 42\n"


def test_methods_and_closures_are_functions_with_arguments(dbg, sample):
    p = sample("shop")

    report = dbg.data("start", p.name, "-b", "Shop\\Cart::add", "-b", p.at("half"))

    assert report["stop"]["breakpoints"] == [1]
    assert frame_of(report)["function"] == "Shop\\Cart::add"
    assert set(texts(dbg.data("args"))) == {"item", "cents"}
    dbg.data("breakpoint", "remove", 1)
    inside = dbg.data("continue")
    assert frame_of(inside)["function"] == "{closure}"
    assert set(texts(dbg.data("args"))) == {"cents"}
    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack) == ["{closure}", "total", "{main}"]
    outside = dbg.data("finish")
    assert (place(outside), outside["returned"]["text"]) == (p.at("rule"), "60")
    assert dbg.data("print", "$sum + $cents")["value"]["text"] == "120"


def test_warnings_stop_when_they_are_asked_for(dbg, sample):
    p = sample("shop")
    dbg.data("catch", "warning")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("warning")
    assert report["stop"]["exception"]["message"] == "Undefined variable $missing"


@pytest.mark.own_daemon
def test_an_evaluation_that_never_ends_is_interrupted_and_harms_nothing(dbg, project):
    text = "<?php\nfunction forever() { while (true) { } }\n$x = 1; // @x\necho $x;\n"
    p = write("forever.php", text, project)
    dbg.configure("[timeouts]\nvalue_s = 1\n")
    dbg.data("start", p.name, "-b", p.at("x"))

    assert dbg.error("print", "forever()")["code"] == "debugger-timeout"

    dbg.data("next")
    assert texts(dbg.data("locals")) == {"x": "1"}


def test_a_file_that_is_not_php_ends_with_php_s_own_words(dbg, project):
    p = write("broken.php", "<?php\nfunction f() { return 1 }\n", project)

    report = dbg.data("start", p.name)

    assert report["exit"]["code"] == 255
    assert "syntax error" in printed(report, "stderr")


def test_a_program_s_own_break_is_a_stop_and_children_run_on_by_themselves(dbg, project):
    text = (
        "<?php\nxdebug_break();\n$pid = pcntl_fork(); // @here\n"
        "if ($pid === 0) { exit(4); }\npcntl_waitpid($pid, $status);\n"
        "echo pcntl_wexitstatus($status), shell_exec(PHP_BINARY . \" -r 'echo 5;'\");\n"
    )
    p = write("forks.php", text, project)

    report = dbg.data("start", p.name)

    assert place(report) == p.at("here")
    assert report["stop"]["description"] == "xdebug_break()"
    assert printed(dbg.data("continue"), "stdout", "stderr") == "45"


def test_a_program_is_left_running(dbg, sample):
    p = sample("endless")
    report = dbg.data("start", p.name, "-b", p.at("turn"))
    assert bare(frame_of(report)["function"]) == "spin"

    dbg.data("detach")

    try:
        assert waits.state_of(report["pid"]) in ("R", "S")
    finally:
        os.kill(report["pid"], signal.SIGKILL)


def test_a_command_that_xdebug_does_not_know_is_not_sent(dbg, sample):
    p = sample("shop")
    dbg.data("start", p.name, "-b", p.at("tally"))

    assert "nosuch" in dbg.error("raw", "nosuch")["message"]

    assert "stack where" in dbg("raw", "stack_get").out
    assert place(dbg.data("next")) != p.at("tally")


def test_what_is_thrown_in_a_fiber_may_be_caught_by_who_resumes_it(dbg, project):
    text = (
        "<?php\n"
        "$fiber = new Fiber(function () {\n"
        "    throw new DomainException('inside');\n"
        "});\n"
        "try {\n"
        "    $fiber->start();\n"
        "} catch (DomainException $caught) {\n"
        "    echo 'caught';\n"
        "}\n"
        "$other = new Fiber(function () {\n"
        "    throw new DomainException('again');\n"
        "});\n"
        "$other->start(); // @start\n"
    )
    p = write("fibers.php", text, project)

    report = dbg.data("start", p.name)

    assert printed(report) == "caught"
    assert place(report) == p.at("start")
    assert report["stop"]["exception"]["message"] == "again"


def test_a_breakpoint_on_a_generator_is_hit_where_it_begins_and_steps_go_over_it(dbg, project):
    text = (
        "<?php\nfunction gen($n) {\n    $x = $n; // @gen\n    yield $x;\n    yield $x + 1;\n}\n"
        "function main() {\n    $values = gen(3);\n    foreach ($values as $value) {\n"
        "        $seen = $value; // @seen\n    }\n    return $seen; // @end\n}\nmain();\n"
    )
    p = write("generator.php", text, project)

    report = dbg.data("start", p.name, "-b", "gen")

    assert place(report) == p.at("gen")
    dbg.data("next")
    assert [place(dbg.data("next")) for _ in range(3)] == [
        p.at("seen"),
        p.at("seen"),
        p.at("end"),
    ]
    assert dbg.data("continue")["exit"]["code"] == 0
    [entry] = dbg.data("breakpoint", "list")["breakpoints"]
    assert entry["hits"] == 1


def test_a_line_of_several_statements_is_hit_once_in_a_pass(dbg, project):
    text = (
        "<?php\n"
        "function add($x) {\n"
        "    $y = $x + 1; return $y; // @add\n"
        "}\n"
        "$i = 0;\n"
        "while ($i < 4) {\n"
        '    $t = add($i); $i++; echo $t, "\\n"; // @row\n'
        "}\n"
    )
    p = write("rows.php", text, project)
    dbg.data("break", p.at("row"))
    dbg.data("break", p.at("add"), "--hit-count", 3)

    seen = [dbg.data("start", p.name), *(dbg.data("continue") for _ in range(3))]

    rows = [(p.at("row"), str(i)) for i in range(3)]
    assert [(place(each), texts(each).get("i")) for each in seen] == [*rows, (p.at("add"), None)]
    assert texts(seen[3])["x"] == "2"
    later = dbg.data("next")
    assert (place(later), later["stop"]["reason"]) == (p.at("add"), "step")
    dbg.data("breakpoint", "remove", 2)
    dbg.data("finish")
    assert texts(dbg.data("continue"))["i"] == "3"
    ended = dbg.data("continue")
    assert (ended["exit"]["code"], printed(ended)) == (0, "4\n")


def test_a_loop_or_condition_on_one_line_is_hit_once_in_a_pass(dbg, project):
    text = (
        "<?php\n$t = 0;\nfor ($i = 0; $i < 3; $i++) $t += $i; // @for\n"
        'if ($t > 2) $u = "big"; else $u = "small"; // @if\n'
        "foreach ([1, 2] as $x) { $t += $x; } // @foreach\necho $t, $u;\n"
    )
    p = write("rows.php", text, project)
    for name in ("for", "if", "foreach"):
        dbg.data("break", p.at(name), "--log", name)

    ended = dbg.data("start", p.name)

    assert printed(ended, "log") == "for\nif\nforeach\n"
    assert printed(ended, "stdout") == "6big"


def test_a_program_that_waits_for_input_promises_no_pause_that_does_not_come(dbg, project):
    p = write("waits.php", "<?php\n$line = fgets(STDIN);\n", project)

    report = dbg.data("start", p.name, "--timeout", "2", code=124)

    assert "only when that call returns" in str(report["notes"])
    assert dbg.data("pause", "--timeout", "1", code=124)["state"] == "running"
    dbg.data("input", "x\n")
    assert dbg.data("await")["state"] in ("stopped", "terminated")


def test_each_finish_leaves_one_more_function_with_its_value(dbg, project):
    text = (
        "<?php\nfunction one($n) {\n    $x = two($n) + 1; // @one\n    return $x * 10;\n}\n"
        "function two($n) {\n    $y = three($n); // @two\n    $y += 1;\n    return $y;\n}\n"
        "function three($n) {\n    return four($n); // @three\n}\n"
        "function four($n) {\n    return $n; // @four\n}\necho one(5);\n"
    )
    p = write("nested.php", text, project)
    dbg.data("start", p.name, "-b", p.at("four"))

    left = [dbg.data("finish") for _ in range(3)]
    assert [(place(each), each["returned"]["text"]) for each in left] == [
        (p.at("three"), "5"),
        (p.at("two"), "5"),
        (p.at("one"), "6"),
    ]
    dbg.data("restart")
    dbg.data("frame", 2)
    selected = dbg.data("finish")
    assert (place(selected), selected["returned"]["text"]) == (p.at("one"), "6")


def test_finish_of_a_function_that_throws_claims_no_value(dbg, project):
    text = (
        "<?php\nfunction bad($n) {\n    $n += 1; // @bad\n    throw new Exception('no');\n}\n"
        "function t() {\n    try {\n        return bad(1);\n    } catch (Exception $e) {\n"
        "        echo 'handled';\n    }\n    return 5;\n}\nt();\n"
    )
    p = write("throws.php", text, project)
    dbg.data("start", p.name, "-b", p.at("bad"))

    assert dbg.data("finish").get("returned") is None


def test_a_crash_of_the_debugger_at_a_stop_is_not_told_as_the_program_s(dbg, project):
    # Xdebug 3.2.0 dies of an object like this at an exception; later ones show it.
    text = (
        "<?php\n"
        "class Bag extends ArrayObject {}\n"
        "function fill() { $bag = new Bag([1, 2]); throw new Exception('full'); }\n"
        "fill();\n"
    )
    p = write("bag.php", text, project)

    report = dbg.data("start", p.name)

    if report["exit"] is None:
        assert report["stop"]["exception"]["message"] == "full"
    else:
        assert report["exit"]["signal"] == "SIGSEGV"
        assert "was stopped" in report["exit"]["reason"]


def test_each_request_of_a_server_stops_at_the_breakpoints(dbg, project):
    text = (
        "<?php\n"
        "$name = $_GET['name'];\n"
        "if ($name === 'bad') { throw new LogicException('no'); } // @bad\n"
        "echo strtoupper($name); // @echo\n"
    )
    p = write("router.php", text, project)
    port = waits.free_port()
    dbg.data("start", "php", "-S", f"127.0.0.1:{port}", p.name, "-b", p.at("echo"), "--no-wait")
    waits.wait_until(lambda: _accepts(port), "the server listens")
    with ThreadPoolExecutor(4) as requests:

        def get(name):
            return requests.submit(_get, f"http://127.0.0.1:{port}/?name={name}")

        first = get("ann")
        assert texts(dbg.data("await"))["name"] == '"ann"'
        second = get("bob")
        dbg.data("set", "$name", '"eve"')
        # The next request waits until this one has ended.
        assert texts(dbg.data("continue"))["name"] == '"bob"'
        assert first.result() == "EVE"
        dbg.data("continue", "--no-wait")
        assert second.result() == "BOB"
        # Between two requests nothing can be paused, and breakpoints can be changed.
        assert "request" in dbg.error("pause")["message"]
        dbg.data("break", p.at("echo"), "--condition", "$name === 'zed'")
        assert get("joe").result() == "JOE"
        third = get("zed")
        assert texts(dbg.data("await"))["name"] == '"zed"'
        dbg.data("continue", "--no-wait")
        assert third.result() == "ZED"
        get("bad")
        failed = dbg.data("await")
        assert (place(failed), failed["stop"]["exception"]["message"]) == (p.at("bad"), "no")
        dbg.data("continue", "--no-wait")
        assert get("kim").result() == "KIM"
        pid = dbg.data("status")["sessions"][0]["pid"]
        dbg.data("detach")
        assert get("zed").result() == "ZED"
        os.kill(pid, signal.SIGTERM)


def _get(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)


def _accepts(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_an_exception_names_those_that_it_was_thrown_for(dbg, project):
    p = write(
        "chain.php",
        """<?php
namespace App;
class Wrapped extends \\RuntimeException {
    public function __construct(string $text, ?\\Throwable $why = null) {
        parent::__construct($text, 0, $why);
    }
}
class Odd extends \\Exception {
    public function __construct(private mixed $kept) { parent::__construct("odd"); }
}
function inner() { throw new \\LogicException("first"); }
function outer() {
    try {
        inner();
    } catch (\\Exception $e) {
        throw new Wrapped("second", $e); // @wrapped
    }
}
try {
    outer();
} catch (\\Exception $e) {
    throw new Odd($e);
}
""",
        project,
    )
    dbg.data("start", p.name, "-b", p.at("wrapped"))
    dbg.data("catch", "raised", "App\\Wrapped", "App\\Odd")

    thrown = dbg.data("continue")["stop"]["exception"]

    kept = dbg.data("continue")["stop"]["exception"]
    assert (kept["type"], kept["causes"]) == ("App\\Odd", [])
    assert (thrown["type"], thrown["causes"]) == ("App\\Wrapped", ["LogicException: first"])
