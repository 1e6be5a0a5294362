"""Go programs that do not come to a stop, and those whose goroutines cannot be read."""

from __future__ import annotations

import shutil
import subprocess

from harness import programs, waits
from harness.reports import Data, frame_of, shown

DEADLOCK = """package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
)

type Account struct {
	mu   sync.Mutex
	Name string
}

func transfer(from, to *Account, amount int, ready *sync.WaitGroup) {
	from.mu.Lock()
	ready.Done()
	ready.Wait()
	to.mu.Lock() // @locks
}

func collect(jobs chan int) {
	<-jobs // @receives
	fmt.Println("collected")
}

func main() {
	// With a goroutine that waits for signals the runtime sees no deadlock.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, os.Interrupt)
	a, b := &Account{Name: "a"}, &Account{Name: "b"}
	var ready sync.WaitGroup
	ready.Add(2)
	go transfer(a, b, 3, &ready)
	go transfer(b, a, 4, &ready)
	jobs := make(chan int)
	for i := 0; i < 3; i++ {
		go collect(jobs)
	}
	var line string
	fmt.Scanln(&line) // @reads
	jobs <- 1
	<-quit
}
"""


def own(stack: Data) -> Data:
    return next(frame for frame in stack["frames"] if not frame["library"])


def test_a_hang_shows_where_each_goroutine_waits_and_stays_as_it_is(dbg, native):
    """delve reads stacks of a halted program only: it is halted for that, and goes on."""
    p = native(DEADLOCK)
    dbg("start", p.name, "--no-wait", "-b", p.at("reads"))
    dbg.data("await")
    dbg.data("breakpoint", "remove", "--all")
    # A halt would end a step.
    stepping = dbg.data("next", "--timeout", "0.1")
    assert stepping["state"] == "running"
    assert not stepping["stacks"]
    assert "and ends the step" in stepping["notes"][-1]
    dbg.data("pause")

    def seen() -> dict[str, Data]:
        command = "await" if dbg.data("status")["sessions"][0]["state"] == "running" else "continue"
        report = dbg.data(command, "--timeout", "0.2")
        assert report["state"] == "running"
        return {f"app.go:{own(stack)['line']}": stack for stack in report["stacks"]}

    def complete() -> bool:
        found = seen()
        return {p.at("locks"), p.at("receives"), p.at("reads")} <= found.keys()

    waits.wait_until(complete, "every goroutine waits")
    stacks = seen()
    locks, receives = stacks[p.at("locks")], stacks[p.at("receives")]
    assert locks["thread"]["state"] == "sync.Mutex.Lock"
    assert receives["thread"]["state"] == "chan receive"
    assert receives["thread"]["name"] == "and 2 more like it"
    values = {each["name"]: each["text"] for each in locks["values"][str(own(locks)["index"])]}
    assert values["amount"] in ("3", "4")
    assert stacks[p.at("reads")]["thread"]["state"] == "system call"
    # It runs: what it reads comes through, and it does what it does.
    said = [dbg("input", "go on").out]

    def collected() -> bool:
        said.append(dbg("output").out)
        return "collected" in "".join(said)

    waits.wait_until(collected, "the program goes on")


LINKED = """package main

// int one() { return 1; }
import "C"
import "os"

func main() {
	os.WriteFile("begun", []byte("yes"), 0o644)
	buffer := make([]byte, C.one())
	os.Stdin.Read(buffer) // @reads
}
"""


def test_a_program_linked_with_c_is_stopped_after_it_was_joined(dbg, native, project):
    """delve 1.27.2 does not answer the first pause by itself."""
    p = native(LINKED)
    living = subprocess.Popen([project / p.name], cwd=project, stdin=subprocess.PIPE)
    try:
        waits.wait_for_file(project / "begun", "yes")
        assert dbg.data("attach", living.pid)["state"] == "running"
        [stack] = dbg.data("await", "--timeout", "0.1")["stacks"]
        assert f"app.go:{own(stack)['line']}" == p.at("reads")
        assert dbg.data("pause")["stop"]["reason"] == "pause"
        dbg.data("detach")
        assert living.poll() is None
    finally:
        living.kill()
        living.wait()


STRIPPED = """package main

import (
	"fmt"
	"time"
)

func work(n int) string {
	return fmt.Sprint(n + 1)
}

func main() {
	fmt.Println(work(1))
	for {
		time.Sleep(time.Millisecond)
	}
}
"""


def test_of_a_stripped_program_the_stack_is_shown(dbg, project, debugger):
    """Without debug information delve names no goroutine; the table of functions is enough."""
    source = programs.write("app.go", STRIPPED, project)
    flags = ["-gcflags", "-l", "-ldflags", "-s -w"]
    go = shutil.which("go") or "go"
    subprocess.run([go, "build", *flags, "-o", "app", source.name], cwd=project, check=True)

    report = dbg.data("start", "./app", "-b", "main.work")

    assert frame_of(report)["function"] == "main.work"
    assert shown(report).startswith("app.go:")
    assert any("a caller may be missing" in note for note in report["notes"])
    # Where a function begins delve leaves out who called it.
    dbg.data("next")
    [stack] = dbg.data("backtrace")["stacks"]
    assert [f["function"] for f in stack["frames"]][:2] == ["main.work", "main.main"]
    [thread] = dbg.data("threads")["threads"]
    assert thread["state"] == "stopped"
    assert "no debug information" in dbg.error("locals", code=1)["message"]
    finished = dbg.data("finish")
    assert frame_of(finished)["function"] == "main.main"
    assert dbg.data("continue", "--timeout", "0.1")["state"] == "running"
    paused = dbg.data("pause")
    assert paused["stop"]["reason"] == "pause"
    assert frame_of(paused)["path"].endswith((".go", ".s"))
