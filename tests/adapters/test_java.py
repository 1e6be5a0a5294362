"""Java through the debug interface of the JDK: its own ways, and every way to name a program."""

from __future__ import annotations

import socket
import subprocess
import sys
import zipfile

import pytest

from harness import programs, waits
from harness.reports import bare, frame_of, functions, own, place, printed, shown, texts, values


def unpacked(p, into):
    """Unpack the classes of a compiled program."""
    with zipfile.ZipFile(p.path) as jar:
        jar.extractall(into)


def test_a_watched_field_stops_after_the_line_that_wrote_it_and_other_values_by_stepping(
    dbg, project
):
    p = programs.write(
        "Cart.java",
        "public class Cart {\n"
        "    static int made = 0;\n    int total = 0;\n"
        "    void add(int price) {\n        total += price; // @add\n"
        "        made++; // @made\n    }\n"
        "    public static void main(String[] args) {\n"
        "        Cart cart = new Cart(), other = new Cart();\n"
        "        int n = 0; // @first\n        other.add(1); // @other\n        cart.add(-3);\n"
        "        n += cart.total; // @n\n        System.out.println(n); // @end\n    }\n}\n",
        project,
    )
    dbg.data("start", p.name, "-b", p.at("other"))
    dbg.data("watch", "cart.total")
    dbg.data("watch", "made", "-c", "made > 1")

    stops = [dbg.data("continue")["stop"] for _ in range(2)]

    found = [(each["watch"]["old"], each["watch"]["new"], each["watch"]["line"]) for each in stops]
    assert found == [("0", "-3", p.line("add")), ("1", "2", p.line("made"))]
    assert dbg.data("watch", "made * 2")["watchpoints"][0]["message"].startswith("by stepping")


# --- what can be started ------------------------------------------------------------------------


def test_a_source_file_is_compiled_and_started(dbg, project):
    p = programs.install("loop.java", project)

    report = dbg.data("start", p.name, "-b", p.at("loop"))

    assert place(report) == p.at("loop")
    assert any("javac -g" in note for note in report["notes"])
    assert dbg.data("continue")["stop"]


def test_a_source_file_of_a_package_brings_the_others_along(dbg, project):
    programs.write("shop/Price.java", "package shop;\n\nclass Price { int cents = 5; }\n", project)
    text = (
        "package shop;\n\npublic class Main {\n"
        "    public static void main(String[] args) {\n"
        "        Price price = new Price();\n"
        "        System.out.println(price.cents); // @print\n    }\n}\n"
    )
    p = programs.write("shop/Main.java", text, project)

    report = dbg.data("start", p.name, "-b", p.at("print"))

    assert texts(report)["price"] == "Price{cents=5}"
    assert frame_of(report)["path"] == str(project / "shop" / "Main.java")


def test_an_error_of_the_compiler_is_told_with_its_place(dbg, project):
    p = programs.write("Bad.java", "class Bad {\n  static void main() { x = 1; }\n}\n", project)

    error = dbg.error("start", p.name, code=1)

    assert error["code"] == "build-failed"
    assert "Bad.java:2: cannot find symbol" in error["message"]


def test_a_class_is_started_by_its_name_and_a_class_path(dbg, sample, project):
    p = sample("store")
    unpacked(p, project / "out")

    report = dbg.data("start", "--classpath", "out", "-b", p.at("print"), "-m", "Store")

    assert place(report) == p.at("print")
    assert frame_of(report)["path"] == str(project / "store.java")
    again = dbg.data("start", "--classpath", "out", "Store", "-b", p.at("print"))
    assert place(again) == p.at("print")


def test_a_class_file_is_started(dbg, sample, project):
    p = sample("store")
    unpacked(p, project / "out")

    assert place(dbg.data("start", "out/Store.class", "-b", p.at("print"))) == p.at("print")


def test_a_class_path_that_is_not_there_is_missed(dbg, project):
    error = dbg.error("start", "--classpath", "nowhere", "-m", "Store", code=1)

    assert error["code"] == "not-found"
    assert "nowhere" in error["message"]
    for words in (("-m", "Nope"), ("pkg.Nope",)):
        error = dbg.error("start", "--classpath", ".", *words, code=1)
        assert error["message"] == f"there is no class {words[-1]} in .."
    told = dbg("start", "java", "-cp", ".", "pkg.Nope").out
    assert "exited: code 1" in told
    assert "via jdb" in told
    assert "ClassNotFoundException: pkg.Nope" in told


def test_variables_that_the_compiler_did_not_note_are_said_to_be_unknown(dbg, project):
    text = "class Bare {\n  public static void main(String[] a) {\n    int n = a.length;\n  }\n}\n"
    p = programs.write("Bare.java", text, project)
    subprocess.run(["javac", "-g:lines,source", "-d", "out", str(p.path)], check=True, cwd=project)

    report = dbg.data("start", "--classpath", "out", "-b", "Bare.java:3", "Bare")

    assert texts(report) == {"(locals)": "unknown: compiled without -g"}


def test_a_jar_without_a_main_class_says_how_it_is_started(dbg, project):
    with zipfile.ZipFile(project / "bare.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")

    error = dbg.error("start", "bare.jar", code=1)

    assert "Main-Class" in error["message"]
    assert "--classpath bare.jar -m" in error["next"]


@pytest.mark.parametrize("folder", ["src/main/java", "core/src/main/java"])
def test_sources_lie_where_projects_keep_them(dbg, sample, project, folder):
    p = sample("store")
    unpacked(p, project / "target" / "classes")
    (project / folder).mkdir(parents=True)
    p.source.rename(project / folder / "store.java")

    report = dbg.data("start", "target/classes/Store.class", "-b", "Store.price(String)")

    assert frame_of(report)["path"] == str(project / folder / "store.java")
    assert frame_of(report)["line"] == p.line("byName")


def test_class_files_of_another_language_show_its_sources(dbg, sample, project):
    p = sample("recursion")
    unpacked(p, project / "out")
    made = project / "out" / "Recursion.class"
    # As a compiler of Kotlin writes it: the name of a source that lies in no package's folder.
    made.write_bytes(made.read_bytes().replace(b"\0\x0erecursion.java", b"\0\x0erecursions1.kt"))
    p.source.rename(project / "recursions1.kt")

    report = dbg.data("start", "out/Recursion.class", "-b", f"recursions1.kt:{p.line('bottom')}")

    assert frame_of(report)["path"] == str(project / "recursions1.kt")
    assert texts(report)["depth"] == "0"


# --- breakpoints --------------------------------------------------------------------------------


def places_of_stops(dbg, report) -> set[str]:
    """Continue to the end of the program from *report* on, and return where it stopped."""
    places = set()
    while report["state"] == "stopped":
        places.add(place(report))
        report = dbg.data("continue")
    return places


def test_methods_are_named_as_java_names_them(dbg, sample):
    p = sample("store")
    names = {
        "Store.price": "byCount",
        "Store.price(String)": "byName",
        "price(java.lang.String,int)": "byCount",
        "Store.new": "constructor",
        "Store.refuse": "refuse",
    }
    words = [word for name in names for word in ("-b", name)]

    places = places_of_stops(dbg, dbg.data("start", p.name, *words))

    assert {p.at(marker) for marker in names.values()} <= places
    for each in dbg.data("breakpoint", "list")["breakpoints"]:
        assert each["hits"], each


def test_code_in_classes_without_a_name_is_stopped_at(dbg, sample):
    p = sample("store")
    markers = {p.at(marker) for marker in ("anonymous", "lambda", "worker")}
    words = [word for at in markers for word in ("-b", at)]

    assert places_of_stops(dbg, dbg.data("start", p.name, *words)) >= markers


def test_a_line_without_code_moves_to_the_next_that_has_some(dbg, sample):
    p = sample("loop")

    report = dbg.data("start", p.name, "-b", f"loop.java:{p.line('callee') - 1}")

    assert place(report) in (p.at("callee"), f"loop.java:{p.line('callee') - 1}")
    [bound] = dbg.data("breakpoint", "list")["breakpoints"]
    assert bound["line"] == frame_of(report)["line"]


def test_conditions_join_operators_calls_and_texts(dbg, sample):
    p = sample("loop")
    condition = 'number > 0 && items[number].name.equals("ink") || total < 0'
    dbg.data("break", p.at("loop"), "--condition", condition)

    report = dbg.data("start", p.name)

    assert texts(report)["number"] == "1"
    assert dbg.data("continue")["state"] == "terminated"


def test_a_condition_that_is_no_boolean_stops_and_says_so(dbg, sample):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "--condition", "total + 1")

    answer = dbg("start", p.name)

    assert "a condition is a boolean" in answer.out


# --- values -------------------------------------------------------------------------------------


def test_values_are_shown_as_java_writes_them(dbg, sample):
    p = sample("store")

    seen = values(dbg.data("start", p.name, "-b", p.at("values")))

    shown = {name: (value["type"], value["text"]) for name, value in seen.items()}
    assert shown["text"] == ("String", '"a\\"b\\né"')
    assert shown["letter"] == ("char", "'\\''")
    assert shown["grid"] == ("int[][]", "int[2][] {int[2] {1, 2}, int[2] {3, 4}}")
    assert shown["points"] == (
        "ArrayList",
        "ArrayList(2) [Point{x=1, y=2.5}, Point{x=3, y=4.0}]",
    )
    assert shown["size"] == ("Store.Size", "LARGE")
    assert shown["big"] == ("long", str(1 << 40))
    assert shown["boxed"] == ("Integer", "12")
    assert shown["store"][1] == 'Store{owner="bob", prices=LinkedHashMap(2) {"pen"=2, "ink"=5}}'
    assert shown["square"][1] == "Store$1{side=3}"


def test_values_can_be_opened(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("values"))

    points = dbg.data("print", "points", "--depth", 2)["value"]
    assert [child["name"] for child in points["children"][1]["children"]] == ["x", "y"]
    prices = dbg.data("print", "store.prices", "--depth", 1)["value"]
    assert [(child["name"], child["text"]) for child in prices["children"]] == [
        ('["pen"]', "2"),
        ('["ink"]', "5"),
    ]
    grid = dbg.data("print", "grid", "--depth", 2)["value"]
    assert [child["text"] for child in grid["children"][1]["children"]] == ["3", "4"]


def test_expressions_are_java_s(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("values"))
    expected = {
        "points.get(1).y * 2": "8.0",
        "points.size() == 2 && grid[1][0] != 4": "true",
        'store.price("pen", 3)': "6",
        "stock + boxed": "19",
        "Store.stock << 2": "28",
        "Math.max(big, 3)": str(1 << 40),
        'String.format("%d-%s", 3, text.length())': '"3-5"',
        'size == Size.LARGE ? "big" : "small"': '"big"',
        "(int) points.get(0).y()": "2",
        "points.get(0) instanceof Point": "true",
        "letter + 1": "40",
        "7 / 2 + 7 % 4": "6",
        "-0x10 + 1_000L": "984",
        "1 / 2.0f": "0.5",
        "!(big > 3) || args.length == 0": "true",
        '"n=" + null + boxed': '"n=null12"',
        "new Point(4, 5).x": "4",
        "grid[0][1] = 9": "9",
        "new int[] {4, boxed, 6}[1]": "12",
        "boxed.equals(12)": "true",
    }

    shown = {each: dbg.data("print", each)["value"]["text"] for each in expected}

    assert shown == expected


HIDDEN = """import java.util.*;

class Base {
    int v = 1;
    String name() { return "Base"; }
}

class Derived extends Base {
    int v = 2;
    @Override String name() { return "Derived"; }
    String up() {
        return super.name() + v; // @up
    }
}

public class Hidden {
    static String f(Object o) { return "object"; }
    static String f(Base o) { return "base"; }
    static String f(Derived o) { return "derived"; }
    static String f(String o) { return "string"; }
    static String f(int o) { return "int"; }

    public static void main(String[] args) {
        Base y = new Derived();
        Derived d = new Derived();
        Object o = "text";
        Integer boxed = 7;
        List<Derived> list = List.of(d);
        System.out.println(f(y) + f(o) + f(boxed) + f(list.get(0)) + y.v); // @main
        d.up();
    }
}
"""


def test_fields_and_overloads_follow_the_declared_type_as_in_java(dbg, project, debugger):
    p = programs.write("Hidden.java", HIDDEN, project)
    report = dbg.data("start", p.name, "-b", p.at("main"), "-b", p.at("up"))

    def shown(*expressions):
        return [dbg.data("print", each)["value"]["text"] for each in expressions]

    assert texts(report)["y"] == "Derived{v=2, Base.v=1}"
    assert shown("y.v", "((Derived) y).v", "((Base) d).v", "list.get(0).v") == ["1", "2", "1", "2"]
    calls = ("f(y)", "f(d)", "f(o)", "f(boxed)", "f(3)", "f((Object) d)", "f(list.get(0))")
    kinds = ["base", "derived", "object", "object", "int", "object", "derived"]
    assert shown(*calls) == [f'"{kind}"' for kind in kinds]
    assert shown("y.name()", 'o == "text"', 'o == "te" + y.v') == ['"Derived"', "true", "false"]
    assert printed(dbg.data("continue")) == "baseobjectobjectderived1\n"
    assert shown("v", "super.v", "super.name()", "Derived.this.v") == ["2", "1", '"Base"', "2"]


def test_what_cannot_be_evaluated_is_said_in_a_sentence(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("values"))
    for expression, words in (
        ("nothing", "there is no variable nothing here"),
        ("store.nothing", "Store has no field nothing"),
        ("store.nothing()", "Store has no method nothing"),
        ("store.price(1, 2, 3)", "takes these arguments"),
        ("grid[5]", "ArrayIndexOutOfBoundsException"),
        ('store.price("none")', "NullPointerException"),
        ("big / 0", "ArithmeticException"),
        ("text +", "unexpected the end"),
        ('"open', "a quote is not closed"),
        ("points.forEach(x -> x)", "lambdas"),
        ("Point.this", "there is no Point.this here"),
    ):
        error = dbg.error("print", expression, code=1)

        assert error["code"] == "evaluation"
        assert words in error["message"]


def test_code_that_does_not_come_back_is_ended_and_the_session_goes_on(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("values"))

    assert dbg.error("print", "endless(1)", code=1)["code"] == "debugger-timeout"

    assert dbg.data("print", "stock")["value"]["text"] == "7"
    assert place(dbg.data("next")) == p.at("print")


def test_fields_and_statics_can_be_set(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("byCount"))

    assert dbg.data("set", "stock", "8")["value"]["text"] == "8"
    assert "owner is final" in dbg.error("set", "this.owner", '"eve"', code=1)["message"]
    assert dbg.data("set", "count", "'a'")["value"]["text"] == "97"
    error = dbg.error("set", "count", '"x"', code=1)
    assert error["code"] == "evaluation"


# --- exceptions ---------------------------------------------------------------------------------


def test_an_uncaught_exception_in_a_thread_is_told_with_its_message(dbg, sample):
    p = sample("store")

    report = dbg.data("start", p.name)

    assert shown(report) == p.at("worker")
    assert report["stop"]["thread"]["name"] == "worker"
    assert report["stop"]["exception"]["type"] == "java.lang.NullPointerException"
    assert '"nothing" is null' in report["stop"]["exception"]["message"]
    assert dbg.data("continue")["exit"]["code"] == 0


def test_exceptions_of_a_type_are_stopped_at_where_they_are_raised(dbg, sample):
    p = sample("store")
    dbg.data("catch", "raised", "NumberFormatException")

    report = dbg.data("start", p.name)

    assert shown(report) == p.at("parse")
    assert report["stop"]["exception"]["message"] == 'For input string: "zz"'


def test_a_cause_is_told(dbg, sample):
    p = sample("store")
    dbg.data("catch", "raised", "IllegalStateException")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("refuse")
    assert report["stop"]["exception"]["causes"] == ["java.lang.RuntimeException: night"]


# --- moving -------------------------------------------------------------------------------------


def test_a_collection_that_is_returned_is_shown_by_what_is_in_it(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("all"))

    assert dbg.data("finish")["returned"]["text"] == "ArrayList(2) [2, 5]"


def test_a_step_goes_through_the_library_into_a_lambda(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("values"))

    seen = [dbg.data("step") for _ in range(5)]

    assert p.at("lambda") in [place(report) for report in seen]
    assert not any(frame_of(report)["library"] for report in seen)


def test_a_pause_shows_the_program_s_own_code(dbg, sample, project):
    p = sample("endless")
    dbg.data("start", p.name, "--no-wait")
    waits.wait_for_file(project / "spinning.txt", "spinning")

    dbg.data("pause")

    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack)[:2] == ["spin", "main"]
    index = next(each["index"] for each in stack["frames"] if not each["library"])
    dbg.data("frame", index)
    assert int(texts(dbg.data("locals"))["turns"]) > 0
    # No event holds the thread, so that nothing can run in it.
    error = dbg.error("print", "path.toString()", code=1)
    assert "not after a pause" in error["message"]


def test_a_program_that_listens_is_joined_by_its_port_and_left(dbg, sample, project):
    p = sample("endless")
    agent = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"
    words = ["java", agent, "-jar", str(p.path)]
    living = subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, text=True, env=dbg.env)
    try:
        assert living.stdout is not None
        port = living.stdout.readline().split()[-1]
        waits.wait_for_file(project / "spinning.txt", "spinning")

        report = dbg.data("attach", f"127.0.0.1:{port}", "-b", p.at("turn"))

        assert place(report) == p.at("turn")
        assert bare(frame_of(report)["function"]) == "spin"
        dbg.data("detach")
        assert living.poll() is None
    finally:
        living.kill()
        living.communicate()


def test_a_program_that_does_not_listen_is_refused_with_how_it_would(dbg, sample, project):
    p = sample("endless")
    living = subprocess.Popen(["java", "-jar", str(p.path)], cwd=project, env=dbg.env)
    try:
        waits.wait_for_file(project / "spinning.txt", "spinning")

        error = dbg.error("attach", living.pid, code=1)

        assert error["code"] == "unsupported"
        assert "-agentlib:jdwp" in error["next"]
    finally:
        living.kill()
        living.wait()


def test_a_port_that_another_process_has_is_not_called(dbg):
    """The command of a process says where it listens; but it may do so no longer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        agent = f"-agentlib:jdwp=transport=dt_socket,server=y,address=127.0.0.1:{port}"
        words = [sys.executable, "-c", "input()", agent]
        with subprocess.Popen(words, stdin=subprocess.PIPE) as living:
            error = dbg.error("attach", living.pid, "--adapter", "jdb", code=1)
            living.communicate(b"\n")

        assert f"does not listen on port {port}" in error["message"]
        with pytest.raises(BlockingIOError):
            server.accept()


def test_nothing_of_the_debugger_is_in_the_program_s_streams(dbg, sample):
    p = sample("echo")
    dbg.data("start", p.name, "-b", p.at("line"), "--no-wait")
    dbg.data("input", "@stop {}")
    report = dbg.data("await")
    assert texts(report)["line"] == '"@stop {}"'

    dbg.data("continue", "--no-wait")
    dbg.data("input", "--eof")
    dbg.data("await")

    output = dbg.data("output", "--all")
    assert printed(output) == "ready\nheard @stop {}\nlines 1\n"


def test_the_machine_can_be_asked_in_raw_words(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("values"))

    assert "Store$Point" in dbg("raw", "classes").out
    assert "int price(java.lang.String, int)" in dbg("raw", "methods", "Store").out
    assert "=" in dbg("raw", "locals").out
    assert dbg("raw", "print", "1", "+", "2").out == "3\n"
    assert dbg.error("raw", "stop at Store:7")["next"] == "dbg break Store.java:7"
    assert dbg.error("raw", "cont")["next"] == "dbg continue"
    assert "there is no command frob" in dbg.error("raw", "frob", code=1)["message"]


def test_library_frames_are_told_from_one_s_own(dbg, sample):
    p = sample("store")
    dbg.data("start", p.name, "-b", p.at("worker"))

    [stack] = dbg.data("backtrace", "--all")["stacks"]

    assert len(own(stack["frames"])) == 1
    assert stack["frames"][-1]["function"] == "Thread.run"


def test_a_failing_assertion_that_a_test_framework_catches_stops_in_the_test(dbg, project):
    (project / "org" / "junit").mkdir(parents=True)
    (project / "org" / "junit" / "Runner.java").write_text(
        "package org.junit;\n"
        "public class Runner {\n"
        "    public static void check(boolean ok) {\n"
        '        if (!ok) throw new AssertionError("not so");\n'
        "    }\n"
        "    public static void run(Runnable test) {\n"
        "        try { again(test); } catch (Throwable t) { System.out.println(t); }\n"
        "    }\n"
        "    public static void assertThrows(Runnable test) {\n"
        "        try { test.run(); } catch (Throwable t) { }\n"
        "    }\n"
        "    static void again(Runnable test) {\n"
        "        try { test.run(); } catch (AssertionError t) { throw t; }\n"
        "    }\n"
        "}\n"
    )
    (project / "App.java").write_text(
        "import org.junit.Runner;\n"
        "public class App {\n"
        "    static void adds() {\n"
        "        int got = 4;\n"
        "        Runner.check(got == 5);\n"
        "    }\n"
        "    static int divide(int n) { return 10 / n; }\n"
        "    static void caught() {\n"
        "        try { divide(0); } catch (ArithmeticException e) { }\n"
        "    }\n"
        "    static void finds() { java.util.List.of(1).get(4); }\n"
        "    public static void main(String[] args) {\n"
        "        Runner.run(App::adds);\n"
        "        Runner.run(App::caught);\n"
        "        Runner.assertThrows(() -> divide(0));\n"
        "        Runner.run(() -> divide(0));\n"
        "        Runner.run(App::finds);\n"
        "    }\n"
        "}\n"
    )

    told = dbg("start", "App.java").out

    assert "AssertionError: not so" in told
    assert "is selected: App.java:5 in App.adds" in told
    # Errors in the code under test fail a test as well; but not expected ones.
    told = dbg("continue").out
    assert "ArithmeticException: / by zero" in told
    assert "called from App.java:16" in told
    report = dbg.data("continue")
    assert shown(report) == "App.java:11"
    assert report["stop"]["exception"]["type"].endswith("IndexOutOfBoundsException")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_source_that_did_not_change_is_not_built_again(dbg, project):
    source = project / "App.java"
    text = "public class App { public static void main(String[] a) { Part.show(); } }\n"
    source.write_text(text)
    part = project / "Part.java"
    part.write_text("class Part { static void show() { System.out.println(1); } }\n")
    first = dbg.data("start", "App.java")["notes"][0]
    again = dbg.data("start", "App.java")["notes"][0]
    part.write_text(part.read_text().replace("1", "2"))

    changed = dbg.data("start", "App.java")

    assert first.startswith("built: ")
    assert again.startswith("built before: ")
    assert changed["notes"][0].startswith("built: ")
    assert printed(changed) == "2\n"


def test_a_map_of_many_entries_is_shown_and_leaves_the_program_alive(dbg, project):
    """The JVM's agent ends the program when it has to send 200,000 references at once."""
    (project / "Many.java").write_text(
        "import java.util.*;\npublic class Many {\n"
        "    public static void main(String[] args) {\n"
        "        Map<Integer, Integer> map = new HashMap<>();\n"
        "        for (int i = 0; i < 200_000; i++) map.put(i, -i);\n"
        "        System.out.println(map.size());\n    }\n}\n"
    )
    report = dbg("start", "Many.java", "-b", "Many.java:6")
    assert "map = HashMap(200000) {0=0, 1=-1," in report.out, report
    assert "[60000] = -60000" in dbg("print", "map", "--range", "60000:60001").out
    assert printed(dbg.data("continue")) == "200000\n"
