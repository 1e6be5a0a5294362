"""Go through delve: goroutines, panics, methods, tests, values, and programs built on the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import programs
from harness.programs import Program
from harness.reports import bare, frame_of, place, printed, shown, texts, values

MODULE = "module example.com/shop\n\ngo 1.20\n"

CART = """package cart

type Cart struct {
	total int
}

func New() *Cart { return &Cart{} }

func (c *Cart) Add(amount int) int {
	c.total += amount // @add
	return c.total
}
"""

CART_TEST = """package cart

import (
	"os"
	"testing"
)

func TestAdd(t *testing.T) {
	c := New()
	if got := c.Add(2); got != 3 { // @test
		t.Errorf("got %d of %q", got, "it") // @fails
	}
	t.Run("inner", func(t *testing.T) {
		t.Fatal("no", c.total) // @fatal
	})
	t.Run("required", func(t *testing.T) { require(t, c.total) })
}

func require(t *testing.T, got int) {
	t.Helper()
	t.Errorf("not equal: %d", got) // @required
	t.FailNow()
}

func TestPanics(t *testing.T) {
	var none *Cart
	none.Add(1) // @panics
}

func TestFiles(t *testing.T) {
	t.Log("no failure")
	t.Run("skipped", func(t *testing.T) { t.Skip("nor this") })
	if _, err := os.Stat("cart.go"); err != nil {
		t.Fatal(err)
	}
}
"""

APP = """package main

import (
	"fmt"

	"example.com/shop/cart"
)

func main() {
	c := cart.New()
	fmt.Println("sum", c.Add(2)+c.Add(3)) // @main
}
"""


@pytest.fixture
def shop(project: Path, debugger: object) -> Program:
    """A module with a program in ./cmd/app, a package ./cart and its tests."""
    files = {
        "go.mod": MODULE,
        "cart/cart.go": CART,
        "cart/cart_test.go": CART_TEST,
        "cmd/app/main.go": APP,
    }
    for name, text in files.items():
        programs.write(name, text, project)
    # As a whole, for its markers.
    return programs.load(project, project)


# --- what is started ------------------------------------------------------------------------------


def test_a_package_is_built_and_the_answer_says_with_what(dbg, shop):
    answer = dbg("start", "./cmd/app", "-b", "(*Cart).Add")

    assert answer.code == 0, str(answer)
    assert "built: cmd/app with go build -gcflags='all=-N -l'" in answer.out
    assert "cart.(*Cart).Add" in answer.out
    assert "app was built with go build" in dbg.data("tool")["reason"]
    assert dbg.data("sessions")["sessions"][0]["program"].endswith("cmd/app")
    assert not list(shop.path.glob("app*"))


@pytest.mark.parametrize(
    "words",
    [
        ("start",),
        ("start", "."),
        ("start", "cmd/app/main.go"),
        ("start", "go", "run", "./cmd/app"),
    ],
)
def test_the_program_of_a_project_is_found(dbg, shop, words):
    report = dbg.data(*words)

    assert report["state"] == "terminated"
    assert printed(report) == "sum 7\n"


def test_of_several_programs_one_must_be_named(dbg, shop):
    programs.write("cmd/other/main.go", "package main\n\nfunc main() {}\n", shop.path)

    error = dbg.error("start", code=2)

    assert "./cmd/app, ./cmd/other" in error["message"]
    assert error["next"] == "dbg start ./cmd/app"


def test_the_tests_of_a_package_run_in_its_folder(dbg, shop):
    report = dbg.data("start", "-m", "test", "./cart", "--", "-test.run", "TestFiles")

    assert report["exit"]["code"] == 0
    assert printed(report) == "PASS\n"


def test_a_failing_test_is_stopped_in(dbg, shop):
    report = dbg.data("start", "-m", "test", "./cart", "-run", "TestAdd", "-b", shop.at("test"))

    assert frame_of(report)["line"] == shop.line("test")
    assert bare(frame_of(report)["function"]) == "TestAdd"
    for verbose in (False, True):
        # The log of the test has the message, or, where that was printed, the call's arguments.
        if verbose:
            failed = dbg.data("start", "go", "test", "./cart", "-v", "-run", "TestAdd")
        else:
            failed = dbg.data("continue")
        assert failed["stop"]["exception"]["type"] == "failure"
        assert failed["stop"]["exception"]["message"] == 'got 2 of "it"'
        assert shown(failed) == f"cart_test.go:{shop.line('fails')}"
        assert texts(failed)["got"] == "2"
        # Once, not once more for each test around it.
        inner = dbg.data("continue")
        assert inner["stop"]["exception"]["message"] == "no 2"
        assert shown(inner) == f"cart_test.go:{shop.line('fatal')}"
        required = dbg.data("continue")
        assert required["stop"]["exception"]["message"] == "not equal: 2"
        assert shown(required) == f"cart_test.go:{shop.line('required')}"
        # `FailNow` after it is not a second failure.
        ended = dbg.data("continue")
        assert ended["exit"]["code"] == 1
        assert "FAIL: TestAdd" in printed(ended)


def test_a_panic_in_a_test_is_one_stop(dbg, shop):
    report = dbg.data("start", "-m", "test", "./cart", "-run", "TestPanics")

    assert report["stop"]["exception"]["type"] == "panic"
    assert dbg.data("continue")["exit"]["code"] == 2


def test_a_name_means_the_function_of_the_program_not_one_of_a_library(dbg, shop):
    lib = 'package lib\n\nimport "example.com/shop/cart"\n\nfunc Run() int { return handler() }\n'
    lib += "\nfunc handler() int { return cart.New().Add(1) }\n"
    programs.write("lib/lib.go", lib, shop.path)
    main = 'package main\n\nimport "example.com/shop/lib"\n\nfunc handler() { lib.Run() }\n'
    main += "\nfunc main() { handler() }\n"
    programs.write("cmd/app/main.go", main, shop.path)
    build = ["go", "build", "-gcflags=all=-N -l", "-o", "app.bin", "./cmd/app"]
    subprocess.run(build, cwd=shop.path, check=True)

    # The runtime has a function `Run` too, and the library a `handler`.
    report = dbg.data("start", "./app.bin", "-b", "handler", "-b", "Run")

    assert frame_of(report)["function"] == "main.handler"
    assert frame_of(dbg.data("continue"))["function"] == "lib.Run"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_library_is_no_program(dbg, shop):
    error = dbg.error("start", "./cart", code=1)

    assert error["code"] == "not-found"
    assert error["next"] == "dbg start go test ./cart"


def test_errors_of_the_compiler_are_told_as_such(dbg, shop):
    source = shop.path / "cmd" / "app" / "main.go"
    source.write_text(APP.replace("c.Add(3)", "c.Ad(3)"))

    error = dbg.error("start", "./cmd/app", code=1)

    assert error["code"] == "build-failed"
    line = shop.line("main")
    assert f"cmd/app/main.go:{line}:" in error["message"]
    assert "c.Ad undefined" in error["message"]
    assert error["next"] == f"dbg source cmd/app/main.go:{line}"
    assert dbg.data("sessions")["sessions"] == []


def test_restart_builds_again_what_has_changed(dbg, shop):
    dbg.data("start", "./cmd/app")
    source = shop.path / "cmd" / "app" / "main.go"
    source.write_text(APP.replace("c.Add(3)", "c.Add(30)"))

    report = dbg.data("restart")

    assert printed(report) == "sum 34\n"
    assert any(note.startswith("built: ") for note in report["notes"])


def test_restart_with_source_that_does_not_build_leaves_the_program_as_it_is(dbg, shop):
    first = dbg.data("start", "./cmd/app", "-b", shop.at("main"))
    (shop.path / "cmd" / "app" / "main.go").write_text("package main\n")

    assert dbg.error("restart", code=1)["code"] == "build-failed"
    [session] = dbg.data("sessions")["sessions"]
    assert (session["state"], session["pid"]) == ("stopped", first["pid"])


@pytest.mark.parametrize(
    ("flags", "said"),
    [((), "built with optimisation"), (("-ldflags", "-w"), "has no debug information")],
)
def test_of_a_program_that_shows_less_that_is_said(dbg, project, debugger, flags, said):
    source = programs.install("loop.go", project)
    go = shutil.which("go") or "go"
    subprocess.run([go, "build", *flags, "-o", "loop", source.name], cwd=project, check=True)

    report = dbg.data("start", "loop", "-b", source.at("last"))

    assert any(said in note for note in report["notes"])
    if not flags:
        assert "[optimized]" in dbg("start", "loop", "-b", "main.main").out


def test_without_delve_another_debugger_is_taken_and_the_better_one_named(dbg, sample, project):
    p = sample("loop")
    del dbg.env["FREEZEFRAME_DEBUGGER"]
    if not (gdb := shutil.which("gdb")):
        pytest.skip("apt-get install gdb")
    (project / "bin").mkdir()
    os.symlink(gdb, project / "bin" / "gdb")
    dbg.env.update(PATH=str(project / "bin"), HOME=str(project), GOPATH="", GOBIN="")

    report = dbg.data("start", p.name, "-b", p.at("loop"))

    assert any("go install" in note for note in report["notes"])


# --- stops ----------------------------------------------------------------------------------------

PANICS = """package main

import (
	"errors"
	"fmt"
	"os"
)

type Failure struct{ Code int }

func (f *Failure) Error() string { return fmt.Sprintf("code %d", f.Code) }

func fail(how string) {
	switch how {
	case "error":
		panic(errors.New("it broke"))
	case "own":
		panic(&Failure{7})
	case "number":
		panic(42)
	case "map":
		var none map[string]int
		none["x"] = 1
	case "index":
		some := []int{1}
		fmt.Println(some[len(how)])
	case "fatal":
		var none func()
		go none()
	case "deadlock":
		<-make(chan int)
	case "recovered":
		defer func() { fmt.Println("recovered", recover()) }()
		panic("nobody sees this")
	}
}

func main() {
	fail(os.Args[1])
}
"""


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("error", "panic", "it broke"),
        ("own", "panic", "code 7"),
        ("number", "panic", "42"),
        ("map", "panic", "assignment to entry in nil map"),
        ("index", "panic", "index out of range [5] with length 1"),
        ("fatal", "fatal error", "go of nil func value"),
    ],
)
def test_a_panic_stops_in_the_user_s_code_with_its_message(dbg, native, how, kind, message):
    p = native(PANICS)

    report = dbg.data("start", p.name, how)

    stop = report["stop"]
    assert stop["reason"] == "exception"
    assert stop["exception"]["type"] == kind
    assert message in stop["exception"]["message"]
    assert shown(report).startswith("app.go:")
    assert [line["function"] for line in stop["exception"]["traceback"]][:1] == ["main.main"]
    assert dbg.data("continue")["exit"]["code"] == 2


def test_a_deadlock_stops_where_the_program_waits(dbg, native):
    """The runtime finds it beside all goroutines; only delve's stop event has the message."""
    p = native(PANICS)

    report = dbg.data("start", p.name, "deadlock")

    assert report["stop"]["reason"] == "exception"
    exception = report["stop"]["exception"]
    assert (exception["type"], exception["message"]) == (
        "fatal error",
        "all goroutines are asleep - deadlock!",
    )
    assert (shown(report).partition(":")[0], texts(report)["how"]) == ("app.go", '"deadlock"')
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 2
    assert "all goroutines are asleep" in printed(ended, "stderr")


TOGETHER = """package main

import "sync"

func work(id, pass int) int {
	return id*10 + pass // @work
}

func main() {
	var ready, done sync.WaitGroup
	ready.Add(4)
	done.Add(4)
	for i := 0; i < 4; i++ {
		go func(id int) {
			defer done.Done()
			ready.Done()
			ready.Wait()
			for pass := 0; pass < 3; pass++ {
				work(id, pass)
			}
		}(i)
	}
	done.Wait()
}
"""


@pytest.mark.parametrize(
    ("options", "expected"), [((), 12), (("-c", "id > 1"), 6), (("--hit-count", ">=5"), 8)]
)
def test_goroutines_that_hit_a_breakpoint_together_are_all_reported(dbg, native, options, expected):
    """delve names one of them in its stop event, and lets the others step past."""
    p = native(TOGETHER)
    dbg.data("break", p.at("work"), *options)

    report = dbg.data("start", p.name)

    seen = []
    while report["state"] == "stopped":
        seen.append((texts(report)["id"], texts(report)["pass"]))
        report = dbg.data("continue")
    assert len(seen) == len(set(seen)) == expected
    assert report["exit"]["code"] == 0


RETURNS = """package main

import (
	"errors"
	"fmt"
)

func add(n int) (int, error) {
	return n + 1, nil // @add
}

func named(a int) (n int, err error) {
	n = a * 2 // @named
	if a > 3 {
		err = errors.New("big")
	}
	return
}

func fact(n int) int {
	if n == 0 { // @fact
		return 1
	}
	return n * fact(n-1)
}

func nothing(n int) {
	fmt.Println(n) // @nothing
}

func main() {
	add(1)
	named(5) // @second
	fact(5)
	nothing(1)
}
"""


def test_finish_tells_what_a_function_returned(dbg, native):
    """delve steps out without saying it: the results are read at the return instruction."""
    p = native(RETURNS)
    names = ("add", "named", "fact", "nothing")
    report = dbg.data("start", p.name, *(w for name in names for w in ("-b", p.at(name))))
    # A breakpoint where a function returns to hides no value.
    dbg.data("break", p.at("second"))
    told = []
    for _ in names:
        if frame_of(report)["line"] == p.line("fact"):
            dbg.data("unbreak", p.at("fact"))
        told.append(dbg.data("finish")["returned"])
        report = dbg.data("continue")

    assert [each and each["text"] for each in told] == [
        "2, error nil",
        '10, error(*errors.errorString) *{s: "big"}',
        "120",
        None,
    ]
    assert report["exit"]["code"] == 0


def test_a_panic_that_is_recovered_does_not_stop(dbg, native):
    p = native(PANICS)

    report = dbg.data("start", p.name, "recovered")

    assert report["exit"]["code"] == 0
    assert printed(report) == "recovered nobody sees this\n"


def test_panics_are_caught_by_our_names(dbg, sample):
    p = sample("uncaught")
    dbg.data("start", p.name)

    names = {each["name"] for each in dbg.data("catch", "list")["filters"]}

    assert {"panic", "fatal"} <= names


WAITING = """package main

import (
	"regexp"
	"runtime"
	"sync"
	"time"
)

func main() {
	var lock sync.Mutex
	values := make(chan int)
	lock.Lock()
	go func() { <-values }()
	go func() { lock.Lock() }()
	go func() { time.Sleep(time.Hour) }()
	waiting := regexp.MustCompile(`\\[(chan receive|sync.Mutex.Lock|semacquire|sleep)`)
	for all := make([]byte, 1<<16); ; runtime.Gosched() {
		if len(waiting.FindAll(all[:runtime.Stack(all, true)], -1)) == 3 {
			break
		}
	}
	lock.Unlock() // @here
}
"""


def test_goroutines_are_threads_that_say_what_they_wait_for(dbg, native):
    p = native(WAITING)
    dbg.data("start", p.name, "-b", p.at("here"))

    threads = dbg.data("threads")["threads"]

    assert {"chan receive", "sync.Mutex.Lock", "sleep"} <= {thread["state"] for thread in threads}
    assert all(
        thread["frame"]["path"].endswith("app.go") for thread in threads if thread["id"] > 20
    )


def test_a_step_that_another_goroutine_interrupted_is_said_to_go_on_first(dbg, native):
    p = native("""package main

import "sync"

func work(wait *sync.WaitGroup, begin, first, second chan bool) {
	<-begin
	first <- true // @first
	<-second
	wait.Done()
}

func main() {
	var wait sync.WaitGroup
	begin, first, second := make(chan bool), make(chan bool), make(chan bool)
	wait.Add(1)
	go work(&wait, begin, first, second)
	begin <- true; second <- <-first // @step
	wait.Wait()
}
""")
    dbg.data("start", p.name, "-b", p.at("step"))
    dbg.data("break", p.at("first"))
    interrupted = dbg.data("next")
    assert place(interrupted) == p.at("first")

    error = dbg.error("next", code=1)

    assert error["code"] == "step-unfinished"
    assert error["next"] == "dbg continue"
    assert dbg.data("continue")["stop"]["reason"] == "step"


def test_a_watched_variable_tells_its_old_and_new_value(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"))
    dbg.data("watch", "total")

    watch = dbg.data("continue")["stop"]["watch"]

    assert (watch["expression"], watch["old"], watch["new"]) == ("total", "0", "6")


@pytest.mark.parametrize("name", ["main.line_amount", "line_amount", "main.main", "main"])
def test_functions_are_named_with_or_without_their_package(dbg, sample, name):
    p = sample("loop")

    report = dbg.data("start", p.name, "-b", name)

    assert bare(frame_of(report)["function"]) == name.rpartition(".")[2]


def test_a_logpoint_may_stand_on_a_function(dbg, sample):
    p = sample("loop")
    dbg.data("break", "line_amount", "--log", "price {price}")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    assert printed(report, "log") == "price 2\nprice 5\nprice 4\n"


def test_a_condition_that_cannot_be_evaluated_stops_and_says_so(dbg, sample):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "-c", "nothing == 2")

    stop = dbg.data("start", p.name)["stop"]

    assert stop["reason"] == "breakpoint"
    assert "could not find symbol value for nothing" in stop["description"]


def test_a_condition_that_is_no_expression_is_rejected(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("first"))

    added = dbg.data("break", p.at("loop"), "-c", "number ==")

    assert added["breakpoint"]["state"] == "rejected"


# --- values ---------------------------------------------------------------------------------------

SHAPES = """package main

import (
	"errors"
	"fmt"
	"os"
	"time"
)

type Point struct{ X, Y int }

type Node struct {
	Value int
	Next  *Node
}

func (p Point) Sum() int { return p.X + p.Y }

func (p Point) Fail() int { panic("no") }

func main() {
	if len(os.Args) > 1 {
		Point{}.Fail()
	}
	small := uint8(34)
	word := "a \\"b\\", c"
	numbers := []int{1, 2, 3}
	words := []string{"one", "two"}
	bytes := []byte("hello")
	ages := map[string]int{"ann": 3}
	point := Point{1, 2}
	pointer := &point
	var none *Point
	var nothing error
	failed := errors.New("it broke")
	var anything interface{} = point
	when := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	list := &Node{1, &Node{2, nil}}
	long := make([]int, 200)
	long[150] = 7
	fmt.Println(small, word, numbers, words, bytes, ages, pointer, none, nothing) // @here
	fmt.Println(failed, anything, when, list, long, point.Sum())
}
"""


def test_values_are_shown_as_go_has_them(dbg, native):
    p = native(SHAPES)
    dbg.data("start", p.name, "-b", p.at("here"))

    seen = texts(dbg.data("locals"))

    assert seen["small"] == "34"
    assert seen["word"] == '"a \\"b\\", c"'
    assert seen["numbers"] == "[]int [1, 2, 3]"
    assert seen["words"] == '[]string ["one", "two"]'
    assert seen["bytes"].endswith('"hello"')
    assert seen["ages"] == 'map[string]int ["ann": 3]'
    assert seen["point"] == "main.Point {X: 1, Y: 2}"
    assert seen["pointer"] == "*main.Point {X: 1, Y: 2}"
    assert seen["none"] == "*main.Point nil"
    assert seen["nothing"] == "error nil"
    assert seen["failed"] == 'error(*errors.errorString) *{s: "it broke"}'
    assert seen["anything"] == "interface {}(main.Point) {X: 1, Y: 2}"
    assert seen["when"] == "time.Time 2024-01-02T03:04:05Z"
    assert not [name for name in seen if name.startswith(("~", "."))]


def test_what_a_pointer_points_to_is_opened_with_it(dbg, native):
    p = native(SHAPES)
    dbg.data("start", p.name, "-b", p.at("here"))

    value = dbg.data("print", "list", "--depth", 2)["value"]

    assert [child["name"] for child in value["children"]] == ["Value", "Next"]
    assert [child["name"] for child in value["children"][1]["children"]] == ["Value", "Next"]


def test_a_long_slice_is_paged_through(dbg, native):
    p = native(SHAPES)
    dbg.data("start", p.name, "-b", p.at("here"))

    value = dbg.data("print", "long", "--range", "149:152")["value"]

    assert [(each["name"], each["text"]) for each in value["children"]] == [
        ("[149]", "0"),
        ("[150]", "7"),
        ("[151]", "0"),
    ]
    assert value["count"] == 200


def test_methods_are_called_and_members_assigned(dbg, native):
    p = native(SHAPES)
    dbg.data("start", p.name, "-b", p.at("here"))

    assert dbg.data("set", "point.X", "40")["value"]["text"] == "40"
    assert dbg.data("set", "numbers[1]", "5")["value"]["text"] == "5"
    assert dbg.data("set", "list.Next.Value", "6")["value"]["text"] == "6"
    assert dbg.data("set", "pointer.Y", "2")["value"]["text"] == "2"
    assert dbg.data("print", "point.Sum()")["value"]["text"] == "42"
    assert dbg.data("print", "numbers")["value"]["text"].endswith("[1, 5, 3]")
    assert dbg.error("set", "point", "5", code=1)["code"] == "evaluation"
    # What a call panics with is not what it gives.
    assert 'panicked: "no"' in dbg.error("print", "point.Fail()", code=1)["message"]


def test_the_receiver_is_an_argument(dbg, native):
    p = native(SHAPES)

    report = dbg.data("start", p.name, "-b", "main.Point.Sum")

    assert values(report)["p"]["text"] == "main.Point {X: 1, Y: 2}"
    assert set(texts(dbg.data("args"))) == {"p"}


# --- the dead -------------------------------------------------------------------------------------


def test_a_core_file_shows_where_a_program_died(dbg, native, project):
    p = native(PANICS)
    env = {**dbg.env, "GOTRACEBACK": "crash"}
    limited = f"ulimit -c unlimited; exec {p.path} own"
    subprocess.run(["/bin/sh", "-c", limited], cwd=project, env=env, capture_output=True)
    cores = list(project.glob("core*"))
    if not cores:
        pytest.skip("this machine writes no core files into the directory of the program")

    report = dbg.data("core", p.name, cores[0].name)

    assert report["stop"]["description"].startswith("SIGABRT")
    assert shown(report).startswith("app.go:")
    assert dbg.error("continue", code=1)["code"] == "unsupported"


def test_a_headless_server_is_joined_and_its_program_left_running(dbg, sample, project):
    p = sample("endless")
    server = subprocess.Popen(
        ["dlv", "exec", "--headless", "--accept-multiclient", "--listen=127.0.0.1:0", str(p.path)],
        cwd=project,
        env=dbg.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        where = next(line for line in server.stdout if "listening at" in line).split()[-1]
        report = dbg.data("attach", where, "--adapter", "delve", "-b", p.at("turn"))
        assert place(report) == p.at("turn")
        dbg.data("detach")
        dbg.data("breakpoint", "remove", "--all")

        # It runs, and no old breakpoint stops it.
        assert dbg.data("attach", where, "--adapter", "delve")["state"] == "running"
    finally:
        server.kill()
        for pid, command in dbg.processes().items():  # it leaves its program behind
            if command == str(p.path):
                os.kill(pid, signal.SIGKILL)
        server.communicate()
